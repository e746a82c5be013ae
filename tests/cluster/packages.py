"""Debian packages: those the harness runs, and those of which it only takes files.

A program that is on the machine, from wherever, is good enough. What is missing is installed when we are
root on a machine with apt, without starting the services that come along; elsewhere it is named in one line.
"""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.cluster import cache
from tests.cluster.errors import HarnessError
from tests.cluster.progress import say, step

# By package, a program (or file) that tells that it is there.
CLUSTER: Mapping[str, str] = {
    "containerd": "containerd",
    "runc": "runc",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "iproute2": "ip",
    "mount": "mount",
    "procps": "sysctl",
    "util-linux": "nsenter",
}
IMAGES: Mapping[str, str] = {"buildah": "buildah", "util-linux": "unshare"}

_POLICY = Path("/usr/sbin/policy-rc.d")
_SEARCH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))


def ensure_debian(wanted: Mapping[str, str]) -> None:
    """Have these programs on the machine: install what is missing, or raise HarnessError that says how to."""
    missing = [package for package, proof in wanted.items() if not _present(proof)]
    if not missing:
        return
    names = " ".join(missing)
    if shutil.which("apt-get") is None:
        programs = ", ".join(wanted[package] for package in missing)
        raise HarnessError(f"This machine lacks {programs}. Debian and Ubuntu have them in: {names}")
    if os.geteuid() != 0:
        raise HarnessError(f"This machine lacks some packages: sudo apt-get install --yes {names}")
    with step(f"Installing Debian packages: {names}"):
        _update()
        with _services_stay_off():
            _apt("install", "--yes", "--no-install-recommends", *missing)
    if still := [package for package in missing if not _present(wanted[package])]:
        raise HarnessError(f"Installed, but not where expected: {', '.join(wanted[name] for name in still)}")


def extracted(package: str, *, version: str = "") -> Path:
    """A folder with the files of a Debian package, which is not installed.

    `version` is how the package's version has to begin. The package comes from the machine's own apt sources.
    """

    def make(out: Path) -> None:
        with step(f"Fetching Debian's package {package} {version}".rstrip()):
            _fetch("download", package, folder=out)
            (archive,) = out.glob("*.deb")
            found = _output("dpkg-deb", "--field", str(archive), "Version")
            if not found.startswith(version):
                raise HarnessError(f"{package} {version} is needed; this machine's apt sources have {found}")
            _unpack(archive, out)

    return cache.entry("debian", _entry_name(package, version), make)


def extracted_with_dependencies(*packages: str) -> Path:
    """A folder with the files of these Debian packages and of all that they depend on, none of it installed.

    No maintainer script has run, so what those would make isn't there.
    """

    def make(out: Path) -> None:
        with step(f"Fetching Debian's packages {' '.join(packages)}, with all they depend on"):
            archives = out / "archives"
            (archives / "partial").mkdir(parents=True)
            nothing = out / "status"
            nothing.touch()  # as if nothing were installed, so that nothing is left out
            options = {
                "Dir::State::status": nothing,
                "Dir::Cache::archives": archives,
                "APT::Install-Recommends": "false",
                "Debug::NoLocking": "true",
            }
            given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
            _fetch(*given, "--download-only", "--yes", "install", *packages, folder=out)
            for archive in sorted(archives.glob("*.deb")):
                _unpack(archive, out)
            shutil.rmtree(archives)
            nothing.unlink()

    return cache.entry("debian", _entry_name(*sorted(packages)), make)


def _entry_name(*parts: str) -> str:
    release = platform.freedesktop_os_release()
    codename = release.get("VERSION_CODENAME", release["ID"])
    return "-".join(filter(None, (*parts, codename, platform.machine())))


def _fetch(*arguments: str, folder: Path) -> None:
    """Let apt download, with fresh lists if it can't with those it has."""
    if shutil.which("apt-get") is None:
        raise HarnessError("Files of Debian's packages are needed, and there is no apt-get on this machine")
    # As root apt would drop its rights, and then can't write into our folder.
    command = ["-o", "APT::Sandbox::User=root", *arguments]
    try:
        _apt(*command, folder=folder)
    except HarnessError:
        if os.geteuid() != 0:
            raise
        _update()
        _apt(*command, folder=folder)


def _unpack(archive: Path, folder: Path) -> None:
    subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)
    archive.unlink()


def _present(proof: str) -> bool:
    return Path(proof).exists() if proof.startswith("/") else shutil.which(proof, path=_SEARCH) is not None


def _update() -> None:
    """Refresh apt's lists; a source of the machine's that doesn't answer need not be one that we need."""
    try:
        _apt("update")
    except HarnessError as error:
        say(f"  {error}")


def _apt(*arguments: str, folder: Path | None = None) -> None:
    command = ["apt-get", "-qq", *arguments]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise HarnessError(f"`{' '.join(command)}` failed:\n{done.stderr.strip()}")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def _services_stay_off() -> Iterator[None]:
    """Keep packages from starting services while they are installed.

    Maintainer scripts ask this file first (Debian's policy, "invoke-rc.d"); 101 means that it is forbidden.
    A file that the machine's owner has put there is left alone.
    """
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()
