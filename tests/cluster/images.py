"""The images that the test cluster runs, under their official names, made from binaries instead of pulled.

They hold what the official ones hold and no shell, so that what works here works with those. Busybox is for
Pods of tests that want a shell. Each is an OCI archive in the cache.
"""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.cluster import binaries, cache, oci
from tests.cluster.packages import extracted
from tests.cluster.progress import step

ETCD_REPOSITORY = "quay.io/coreos/etcd"
PAUSE = f"registry.k8s.io/pause:{binaries.TOOLS['pause'].version}"
BUSYBOX = "docker.io/library/busybox:stable"

# What a cluster needs before it can run anyone's Pods; volumes are made by a Pod with a shell.
SYSTEM = (PAUSE, BUSYBOX)

_DEBIAN_ETCD = "3.4.23"  # of 3.4 no Go module builds etcd; Debian 12 has this one
_BUILT_ETCD = {
    recipe.version: tool for tool, recipe in binaries.TOOLS.items() if "etcdctl" in recipe.programs
}
ETCD_VERSIONS = (_DEBIAN_ETCD, *_BUILT_ETCD)

_PASSWD = "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n"
_BASE: dict[str, oci.Node] = {
    "/etc/passwd": oci.Text(_PASSWD),
    "/etc/group": oci.Text("root:x:0:\nnogroup:x:65534:\n"),
    "/etc/nsswitch.conf": oci.Text("hosts: files dns\n"),
    "/root": oci.Folder(0o700),
    "/tmp": oci.Folder(0o1777),
}


def etcd_reference(version: str) -> str:
    """The official name of an etcd image."""
    return f"{ETCD_REPOSITORY}:v{version}"


def ensure_etcd_image(version: str) -> Path:
    """The archive of etcd's image of one of `ETCD_VERSIONS`; KeyError for another."""
    return ensure_image(etcd_reference(version))


def ensure_image(reference: str) -> Path:
    """The archive of the image with this name, made if the cache doesn't have it.

    Raises KeyError for a name that isn't one of ours, and HarnessError where its parts can't be had.
    """
    return archive(_RECIPES[reference](reference))


def archive(image: oci.Image) -> Path:
    """The OCI archive of an image in the cache."""
    # A file's source stands in this by its path in the cache, which holds the key of what is in it.
    identity = repr(image).replace(str(cache.root()), "")
    key = cache.key(Path(oci.__file__).read_bytes(), oci.architecture(), identity)
    short = image.reference.rpartition("/")[2].replace(":", "-")
    file = f"{short}.tar"

    def make(out: Path) -> None:
        with step(f"Making the image {image.reference}"):
            oci.write(image, out / file)

    return cache.entry("images", f"{short}-{key}", make) / file


def _programs(folder: str, tool: str) -> dict[str, oci.Node]:
    return {f"{folder}/{name}": oci.File(path) for name, path in binaries.ensure(tool).items()}


def _etcd(reference: str, programs: Mapping[str, oci.Node]) -> oci.Image:
    folders = {"/var/etcd": oci.Folder(), "/var/lib/etcd": oci.Folder()}
    return oci.Image(
        reference=reference, tree={**_BASE, **folders, **programs}, command=("/usr/local/bin/etcd",)
    )


def _built_etcd(reference: str) -> oci.Image:
    return _etcd(reference, _programs("/usr/local/bin", _BUILT_ETCD[reference.rpartition(":v")[2]]))


def _debian_etcd(reference: str) -> oci.Image:
    """Debian's etcd is linked to the C library, so that comes along; 3.4 has no etcdutl."""
    server = extracted("etcd-server", version=_DEBIAN_ETCD) / "usr/bin/etcd"
    client = extracted("etcd-client", version=_DEBIAN_ETCD) / "usr/bin/etcdctl"
    library = extracted("libc6")
    needed = [
        found
        for pattern in (
            "ld-linux*.so.*",
            "libc.so.6",
            "libnss_files.so.2",
            "libnss_dns.so.2",
            "libresolv.so.2",
        )
        for found in library.glob(f"lib*/**/{pattern}")
    ]
    return _etcd(
        reference,
        {"/usr/local/bin/etcd": oci.File(server), "/usr/local/bin/etcdctl": oci.File(client)}
        | {f"/{path.relative_to(library)}": _copied(path) for path in needed},
    )


def _copied(path: Path) -> oci.Node:
    return oci.Link(str(path.readlink())) if path.is_symlink() else oci.File(path)


def busybox_tree() -> dict[str, oci.Node]:
    """Busybox and its applets in /bin."""
    program = extracted("busybox-static") / "bin/busybox"
    listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True)
    names = [name for name in listed.stdout.split() if name != "busybox"]
    links = {f"/bin/{name}": oci.Link("busybox") for name in names}
    return {"/bin/busybox": oci.File(program), **links}


def _busybox(reference: str) -> oci.Image:
    return oci.Image(reference=reference, tree={**_BASE, **busybox_tree()}, command=("sh",))


def _pause(reference: str) -> oci.Image:
    return oci.Image(
        reference=reference, tree=_programs("", "pause"), entrypoint=("/pause",), user="65535:65535"
    )


_RECIPES: Mapping[str, Callable[[str], oci.Image]] = {
    PAUSE: _pause,
    BUSYBOX: _busybox,
    etcd_reference(_DEBIAN_ETCD): _debian_etcd,
} | {etcd_reference(version): _built_etcd for version in _BUILT_ETCD}
