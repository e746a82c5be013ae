from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import packages
from tests.cluster.errors import HarnessError

Put = Callable[[str, str], Path]


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "policy-rc.d"
    monkeypatch.setattr(packages, "_POLICY", path)
    return path


def _user(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr("os.geteuid", lambda: number)


def test_what_is_there_needs_nothing(program: Put, tmp_path: Path) -> None:
    program("apt-get", "exit 1")
    packages.ensure_debian({"dash": "sh", "a-file": str(tmp_path)})


def test_who_is_not_root_gets_a_line_to_copy(program: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    program("apt-get", "exit 1")
    _user(monkeypatch, 1000)
    with pytest.raises(HarnessError) as caught:
        packages.ensure_debian({"one": "no-such-program", "two": "/no/such/file", "dash": "sh"})
    assert str(caught.value).endswith("sudo apt-get install --yes one two")


def test_a_machine_without_apt_is_told_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HarnessError, match=r"lacks no-such-program\. .* in: one"):
        packages.ensure_debian({"one": "no-such-program"})


def test_root_installs_with_fresh_lists_and_starts_no_service(
    program: Put, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    proof = tmp_path / "proof"
    install = f'{policy}; echo "policy $?" >> {calls}; touch {proof}'
    program("apt-get", f'echo "$*" >> {calls}; case $2 in install) {install};; esac')
    _user(monkeypatch, 0)
    packages.ensure_debian({"containerd": str(proof)})
    assert calls.read_text().splitlines() == [
        "-qq update",
        "-qq install --yes --no-install-recommends containerd",
        "policy 101",
    ]
    assert not policy.exists()


def test_a_policy_of_the_owner_stays(
    program: Put, tmp_path: Path, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy.write_text("#!/bin/sh\nexit 0\n")
    proof = tmp_path / "proof"
    program("apt-get", f"touch {proof}")
    _user(monkeypatch, 0)
    packages.ensure_debian({"containerd": str(proof)})
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"


def test_a_failed_installation_says_what_apt_said(
    program: Put, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program("apt-get", "case $2 in install) echo 'E: held broken packages' >&2; exit 100;; esac")
    _user(monkeypatch, 0)
    with pytest.raises(HarnessError, match="held broken packages"):
        packages.ensure_debian({"containerd": "/no/such/file"})
    assert not policy.exists()


def test_a_package_of_another_version_is_refused(cache_root: Path, program: Put) -> None:
    program("apt-get", "touch etcd.deb")
    program("dpkg-deb", "echo 3.5.16+ds-1")
    with pytest.raises(HarnessError, match=r"3\.4\.23 is needed.*3\.5\.16"):
        packages.extracted("etcd-server", version="3.4.23")
    assert not list((cache_root / "debian").glob("etcd*"))
