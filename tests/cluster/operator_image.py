"""The operator's image, from the project's Dockerfile.

The build asks no network: its base is ours (`base_images`) and the packages are downloaded here, with the
machine's own settings for pip, and shown to the build as a folder. buildah's storage is a folder in the
cache, so that the machine's own is left alone; its layers make a build after a change of the source a matter
of seconds. The result is kept by the hash of everything that goes in.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.cluster import base_images, cache, images, oci, packages
from tests.cluster.errors import HarnessError
from tests.cluster.progress import say, step

REFERENCE = "quay.io/coreos/etcd-operator:v0.10.0"

_PROJECT = Path(__file__).parents[2]
_SOURCES = ("app", "certs", "webhooks")
_WHEELS = "/wheels"  # in the build
_LAYERS_KEPT = 200


def operator_image() -> Path:
    """The image of the operator as it is in the work tree, as an OCI archive.

    Raises HarnessError where it can't be built.
    """
    sources = _sources()
    bases = images.archive(base_images.runtime()), images.archive(base_images.build())
    content = (part for name, data in sources.items() for part in (name, data))
    key = cache.key(
        Path(__file__).read_bytes(),
        Path(oci.__file__).read_bytes(),
        *(base.parent.name for base in bases),
        *content,
    )
    file = "etcd-operator.tar"
    return (
        cache.entry("images", f"etcd-operator-{key}", lambda out: _make(sources, *bases, out / file)) / file
    )


def _sources() -> dict[str, bytes]:
    """All that the build is made of, read once, so that an edit meanwhile can't get into it half."""
    paths = [_PROJECT / name for name in ("Dockerfile", "requirements.lock")]
    for folder in _SOURCES:
        paths += sorted(path for path in (_PROJECT / folder).rglob("*") if _is_source(path))
    return {str(path.relative_to(_PROJECT)): path.read_bytes() for path in paths}


def _is_source(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


@contextmanager
def _laid_out(sources: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder with these files; all have one time, since buildah's layers depend on it."""
    with tempfile.TemporaryDirectory(prefix="etcd-operator-image-") as name:
        for path, content in sources.items():
            file = Path(name, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o644)
        for place in Path(name).rglob("*"):
            os.utime(place, (0, 0))
        yield Path(name)


def _make(sources: Mapping[str, bytes], runtime: Path, build: Path, out: Path) -> None:
    packages.ensure_debian(packages.IMAGES)
    wheels = _wheels()
    with (
        cache.locked(cache.root() / "buildah.lock", waiting_for="a build of the operator's image"),
        step(f"Building the image {REFERENCE}", expected_seconds=30),
        _laid_out(sources) as context,
    ):
        arguments = {
            "BASE": _pulled(runtime),
            "BUILD": _pulled(build),
            "PIP": f"python3 {_WHEELS}/{base_images.pip_wheel().name}/pip",
            "PIP_OPTIONS": f"--no-index --find-links {_WHEELS}",
        }
        given = [word for pair in arguments.items() for word in ("--build-arg", "=".join(pair))]
        _buildah(
            *("build", "--isolation", "chroot", "--layers", "--timestamp", "0", "--identity-label=false"),
            *("--force-rm", "--tag", REFERENCE, "--volume", f"{wheels}:{_WHEELS}:ro", *given, str(context)),
        )
        made = context / "image"
        _buildah("push", "--quiet", "--disable-compression", "--format", "oci", REFERENCE, f"dir:{made}")
        oci.pack(made, REFERENCE, out)
        if len(_buildah("images", "--all", "--quiet").splitlines()) > _LAYERS_KEPT:
            _buildah("rmi", "--all", "--force")
    say(f"  {REFERENCE}: {out.stat().st_size / 2**20:.0f} MiB, of these the base {_mebibytes(runtime)} MiB")


def _mebibytes(path: Path) -> str:
    return f"{path.stat().st_size / 2**20:.0f}"


def _pulled(archive: Path) -> str:
    """A base by a name that buildah's storage has for it, which is that of its cache entry."""
    name = f"localhost/{archive.parent.name}"
    known = _buildah("images", "--quiet", "--filter", f"reference={name}")
    if not known:
        identifier = _buildah("pull", "--quiet", f"oci-archive:{archive}").splitlines()[-1]
        _buildah("tag", identifier, name)
    return name


def _wheels() -> Path:
    """A folder with the wheel of each locked package, and pip's."""
    version = base_images.python_version()
    if version != f"{sys.version_info.major}.{sys.version_info.minor}":
        raise HarnessError(
            f"The operator's image is made of Debian packages, here those of Python {version}: "
            f"run this with that Python too (rm -r build/venv; make venv PYTHON=python{version})"
        )
    lock = _PROJECT / "requirements.lock"
    key = cache.key(lock.read_bytes(), version, oci.architecture())

    def make(out: Path) -> None:
        with step("Downloading the operator's Python packages", expected_seconds=20):
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            options = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--dest", str(out)]
            _run([*command, *options, "--requirement", str(lock)])
            shutil.copy(base_images.pip_wheel(), out)

    return cache.entry("wheels", key, make)


def _buildah(*arguments: str) -> str:
    """Run buildah in namespaces of its own: its mounts and processes end with it, however it ends."""
    storage = cache.root() / "buildah"
    storage.mkdir(parents=True, exist_ok=True)
    alone = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    with tempfile.TemporaryDirectory(prefix="run.", dir=storage) as mounted:  # what it thinks is mounted
        return _run([*alone, "buildah", "--root", f"{storage}/root", "--runroot", mounted, *arguments])


def _run(command: Iterable[str]) -> str:
    words = list(command)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise HarnessError(f"`{' '.join(words)}` failed:\n{said}")
    return done.stdout.strip()
