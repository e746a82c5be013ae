"""Writing a container image from files: an OCI layout in a tar, of one layer, the same bytes each time.

The layout is that of the OCI image specification; containerd imports it, buildah and skopeo read it as
`oci-archive:`. Everything that could differ between two runs (owners, times, order) is fixed.
"""

import hashlib
import io
import json
import platform
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

_MEDIA = "application/vnd.oci.image"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class File:
    """A regular file with the content of `source`."""

    source: Path
    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class Text:
    """A small regular file."""

    content: str
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder; those above an entry come by themselves."""

    mode: int = 0o755


Node = File | Text | Link | Folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What an image is called, what is in it (by absolute path) and how it is run."""

    reference: str
    tree: Mapping[str, Node]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    environment: tuple[str, ...] = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",)


def _encode(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


_LAYOUT = _encode({"imageLayoutVersion": "1.0.0"})


@dataclass(frozen=True, slots=True)
class _Blob:
    digest: str
    size: int

    def descriptor(self, media_type: str) -> dict[str, object]:
        return {"mediaType": f"{_MEDIA}.{media_type}", "digest": self.digest, "size": self.size}

    @property
    def path(self) -> str:
        return _blob_path(self.digest.removeprefix("sha256:"))


def _blob_path(digest: str) -> str:
    return f"blobs/sha256/{digest}"


def architecture() -> str:
    """The machine's architecture by the name that Go and OCI have for it."""
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def write(image: Image, out: Path) -> None:
    """Write the image's archive to the file `out`."""
    target = {"architecture": architecture(), "os": "linux"}
    with tempfile.TemporaryFile(dir=out.parent) as layer_file:
        _write_tree(image.tree, layer_file)
        layer = _digest(layer_file)
        config_bytes = _encode(
            target
            | {
                "config": _settings(image),
                "rootfs": {"type": "layers", "diff_ids": [layer.digest]},
                "history": [{"created_by": "tests.cluster.oci"}],
            }
        )
        config = _digest(io.BytesIO(config_bytes))
        manifest_bytes = _encode(
            {
                "schemaVersion": 2,
                "mediaType": f"{_MEDIA}.manifest.v1+json",
                "config": config.descriptor("config.v1+json"),
                "layers": [layer.descriptor("layer.v1.tar")],
            }
        )
        manifest = _digest(io.BytesIO(manifest_bytes))
        index = _index(manifest, image.reference)
        with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as archive:
            _add(archive, "oci-layout", _LAYOUT)
            _add(archive, "index.json", index)
            _add(archive, manifest.path, manifest_bytes)
            _add(archive, config.path, config_bytes)
            layer_file.seek(0)
            archive.addfile(_info(layer.path, 0o644, size=layer.size), layer_file)


def pack(folder: Path, reference: str, out: Path) -> None:
    """Write the archive of an image that another tool has left as manifest.json and blobs named by digest.

    That is what buildah and skopeo call `dir:`; unlike an OCI layout they write it without compressing.
    """
    manifest_bytes = (folder / "manifest.json").read_bytes()
    manifest = _digest(io.BytesIO(manifest_bytes))
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, "oci-layout", _LAYOUT)
        _add(archive, "index.json", _index(manifest, reference))
        _add(archive, manifest.path, manifest_bytes)
        for blob in sorted(folder.glob("[0-9a-f]*")):
            with blob.open("rb") as content:
                archive.addfile(_info(_blob_path(blob.name), 0o644, size=blob.stat().st_size), content)


def _index(manifest: _Blob, reference: str) -> bytes:
    """The list of what is in an archive; containerd and others take the image's name from it."""
    names = {"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": reference}
    target = {"architecture": architecture(), "os": "linux"}
    entry = manifest.descriptor("manifest.v1+json") | {"annotations": names, "platform": target}
    return _encode({"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": [entry]})


def _settings(image: Image) -> dict[str, object]:
    settings: dict[str, object] = {
        "Entrypoint": list(image.entrypoint),
        "Cmd": list(image.command),
        "Env": list(image.environment),
        "User": image.user,
        "WorkingDir": "/",
    }
    return {name: value for name, value in settings.items() if value}


def _write_tree(tree: Mapping[str, Node], out: IO[bytes]) -> None:
    nodes = {path.strip("/"): node for path, node in tree.items()}
    for path in list(nodes):
        for parent in PurePosixPath(path).parents:
            if str(parent) != ".":
                nodes.setdefault(str(parent), Folder())
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as layer:
        for path, node in sorted(nodes.items()):
            match node:
                case Folder(mode):
                    layer.addfile(_info(path, mode, kind=tarfile.DIRTYPE))
                case Link(target):
                    info = _info(path, 0o777, kind=tarfile.SYMTYPE)
                    info.linkname = target
                    layer.addfile(info)
                case Text(content, mode):
                    _add(layer, path, content.encode(), mode)
                case File(source, mode):
                    with source.open("rb") as content_file:
                        layer.addfile(_info(path, mode, size=source.stat().st_size), content_file)


def _add(archive: tarfile.TarFile, path: str, content: bytes, mode: int = 0o644) -> None:
    archive.addfile(_info(path, mode, size=len(content)), io.BytesIO(content))


def _info(path: str, mode: int, *, size: int = 0, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)  # owner 0:0 and time 0, unless told
    info.mode, info.size, info.type = mode, size, kind
    return info


def _digest(content: IO[bytes]) -> _Blob:
    digest, size = hashlib.sha256(), 0
    content.seek(0)
    while chunk := content.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
    return _Blob(f"sha256:{digest.hexdigest()}", size)
