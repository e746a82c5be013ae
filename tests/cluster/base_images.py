"""The base of the operator's image, where no registry can be asked for one: Debian's Python and nothing else.

It is what a "distroless" Python image is: the files of Debian's packages for Python and the libraries below
it, certificates of the public authorities, no shell and no package manager. A second one has a shell for the
build stages.
"""

from pathlib import Path

from tests.cluster import images, oci
from tests.cluster.errors import HarnessError
from tests.cluster.packages import extracted, extracted_with_dependencies

RUNTIME = "localhost/etcd-operator-base:runtime"
BUILD = "localhost/etcd-operator-base:build"

# libstdc++ is what the wheel of grpcio is linked to.
_PACKAGES = ("ca-certificates", "libstdc++6", "media-types", "netbase", "python3")

_KEPT = ("etc/", "lib/", "lib64/", "usr/lib/", "usr/bin/python3")
# Parts of Python that a server has no use for, character sets that glibc loads at run time, Debian's tools.
_DROPPED_PYTHON = ("ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtledemo")
_DROPPED = ("gconv", "dpkg", "apt", "systemd", "tmpfiles.d", "ssl-certs", "engines-3", "tar", "perl5")
_DROPPED_NAMES = frozenset((*_DROPPED_PYTHON, *_DROPPED))

_PASSWD = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/nonexistent:/sbin/nologin\n"


def runtime() -> oci.Image:
    """Python, and what it needs to run."""
    return oci.Image(reference=RUNTIME, tree=_runtime_tree())


def build() -> oci.Image:
    """The same with busybox's shell and tools beside it."""
    return oci.Image(reference=BUILD, tree={**images.busybox_tree(), **_runtime_tree()})


def pip_wheel() -> Path:
    """The file of pip's wheel, which can be run as it is."""
    (wheel,) = extracted("python3-pip-whl").glob("usr/share/python-wheels/pip-*.whl")
    return wheel


def python_version() -> str:
    """The base's Python by major and minor version, as 3.11."""
    (program,) = (_files() / "usr/bin").glob("python3.[0-9][0-9]")
    return program.name.removeprefix("python")


def _files() -> Path:
    return extracted_with_dependencies(*_PACKAGES)


def _runtime_tree() -> dict[str, oci.Node]:
    files = _files()
    tree: dict[str, oci.Node] = {
        "/etc/passwd": oci.Text(_PASSWD),
        "/etc/group": oci.Text("root:x:0:\nnonroot:x:65532:\n"),
        "/etc/nsswitch.conf": oci.Text("hosts: files dns\n"),
        "/etc/ssl/certs/ca-certificates.crt": oci.Text(_authorities(files)),
        "/tmp": oci.Folder(0o1777),
    }
    for path in sorted(files.rglob("*")):
        name = path.relative_to(files)
        if str(name).startswith(_KEPT) and _DROPPED_NAMES.isdisjoint(name.parts):
            if path.is_symlink():
                tree[f"/{name}"] = oci.Link(str(path.readlink()))
            elif path.is_file():
                tree[f"/{name}"] = oci.File(path, path.stat().st_mode & 0o755)
    return tree


def _authorities(files: Path) -> str:
    """What `update-ca-certificates` would put together."""
    found = sorted(files.glob("usr/share/ca-certificates/mozilla/*.crt"))
    if not found:
        raise HarnessError("Debian's package ca-certificates has no certificates where they are expected")
    return "".join(path.read_text() for path in found)
