import hashlib
import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

from tests.cluster import oci


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    found = archive.extractfile(name)
    assert found is not None
    return found.read()


def _blob(archive: tarfile.TarFile, descriptor: dict[str, Any]) -> bytes:
    digest = descriptor["digest"].removeprefix("sha256:")
    content = _read(archive, f"blobs/sha256/{digest}")
    assert hashlib.sha256(content).hexdigest() == digest
    assert len(content) == descriptor["size"]
    return content


def _image(tmp_path: Path) -> oci.Image:
    source = tmp_path / "program"
    source.write_bytes(b"\x7fELF" + bytes(5000))
    return oci.Image(
        reference="registry.example/program:v1",
        tree={
            "/usr/local/bin/program": oci.File(source),
            "/etc/passwd": oci.Text("root:x:0:0::/:\n"),
            "/bin/sh": oci.Link("busybox"),
            "/tmp": oci.Folder(0o1777),
        },
        entrypoint=("/usr/local/bin/program",),
        user="65532:65532",
    )


def test_an_archive_is_an_oci_layout_whose_digests_are_right(tmp_path: Path) -> None:
    out = tmp_path / "image.tar"
    oci.write(_image(tmp_path), out)
    with tarfile.open(out) as archive:
        assert json.loads(_read(archive, "oci-layout")) == {"imageLayoutVersion": "1.0.0"}
        (entry,) = json.loads(_read(archive, "index.json"))["manifests"]
        assert entry["annotations"]["io.containerd.image.name"] == "registry.example/program:v1"
        manifest = json.loads(_blob(archive, entry))
        config = json.loads(_blob(archive, manifest["config"]))
        (layer,) = manifest["layers"]
        content = _blob(archive, layer)
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    assert config["config"]["Entrypoint"] == ["/usr/local/bin/program"]
    assert config["config"]["User"] == "65532:65532"
    assert config["architecture"] == oci.architecture()
    with tarfile.open(fileobj=io.BytesIO(content)) as tree:
        members = {member.name: member for member in tree.getmembers()}
    assert list(members) == sorted(members)
    assert {"usr", "usr/local", "usr/local/bin", "etc", "bin", "tmp"} <= set(members)
    assert members["usr/local/bin/program"].mode == 0o755
    assert members["tmp"].mode == 0o1777
    assert members["bin/sh"].linkname == "busybox"
    assert {(member.mtime, member.uid, member.gid) for member in members.values()} == {(0, 0, 0)}


def test_the_same_image_is_the_same_bytes(tmp_path: Path) -> None:
    image = _image(tmp_path)
    oci.write(image, tmp_path / "first.tar")
    os.utime(tmp_path / "program", (1, 1))
    again = oci.Image(
        reference=image.reference,
        tree=dict(reversed(list(image.tree.items()))),
        entrypoint=image.entrypoint,
        user=image.user,
    )
    oci.write(again, tmp_path / "second.tar")
    assert (tmp_path / "first.tar").read_bytes() == (tmp_path / "second.tar").read_bytes()


def test_what_another_tool_left_is_packed_whole(tmp_path: Path) -> None:
    folder = tmp_path / "image"
    folder.mkdir()
    layer = b"layer"
    name = hashlib.sha256(layer).hexdigest()
    (folder / name).write_bytes(layer)
    (folder / "version").write_text("Directory Transport Version: 1.1\n")
    (folder / "manifest.json").write_text(json.dumps({"layers": [{"digest": f"sha256:{name}"}]}))
    out = tmp_path / "image.tar"
    oci.pack(folder, "registry.example/other:v2", out)
    with tarfile.open(out) as archive:
        (entry,) = json.loads(_read(archive, "index.json"))["manifests"]
        assert entry["annotations"]["org.opencontainers.image.ref.name"] == "registry.example/other:v2"
        assert json.loads(_blob(archive, entry))["layers"][0]["digest"] == f"sha256:{name}"
        assert _blob(archive, {"digest": f"sha256:{name}", "size": 5}) == layer
        assert not [one for one in archive.getnames() if "version" in one]
