import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import binaries
from tests.cluster.errors import HarnessError

# Stands in for Go: notes the call and makes the files that `-o FOLDER/ PACKAGES…` asks for.
_GO = r"""
echo "$PWD $CGO_ENABLED $*" >> {calls}
for word; do
  case $previous in -o) folder=$word ;; esac
  previous=$word
done
echo some/package >&2
for name in {names}; do echo program > "$folder$name"; done
"""

Put = Callable[[str, str], Path]


def _go(program: Put, tmp_path: Path, *names: str) -> Path:
    calls = tmp_path / "calls"
    program("go", _GO.format(calls=calls, names=" ".join(names)))
    return calls


def test_programs_are_built_once_and_have_their_names(cache_root: Path, program: Put, tmp_path: Path) -> None:
    calls = _go(program, tmp_path, "server", "etcdctl", "etcdutl")
    first = binaries.ensure("etcd-3.6")
    assert first == binaries.ensure("etcd-3.6")
    assert set(first) == {"etcd", "etcdctl", "etcdutl"}
    assert all(path.is_file() and path.is_relative_to(cache_root) for path in first.values())
    (call,) = calls.read_text().splitlines()
    assert call.startswith(f"{binaries.MODULES / 'etcd-3.6'} 0 build")
    assert "-trimpath" in call
    assert "-s -w" in call


def test_the_version_is_stamped_into_kubernetes(cache_root: Path, program: Put, tmp_path: Path) -> None:
    calls = _go(program, tmp_path, *binaries.TOOLS["kubernetes"].programs)
    binaries.ensure("kubernetes")
    version = binaries.TOOLS["kubernetes"].version
    assert f"-X k8s.io/component-base/version.gitVersion=v{version} " in calls.read_text()
    assert "-X k8s.io/component-base/version.gitMinor=34 " in calls.read_text()


def test_without_go_one_line_says_what_to_do(cache_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HarnessError, match="install Go") as caught:
        binaries.ensure("pause")
    assert "\n" not in str(caught.value)


def test_a_failed_build_says_what_go_said(cache_root: Path, program: Put) -> None:
    program("go", "echo 'pause.go:1: this is not Go' >&2; exit 1")
    with pytest.raises(HarnessError, match="this is not Go"):
        binaries.ensure("pause")
    assert not list((cache_root / "binaries").glob("pause*"))


def test_kubebuilder_assets_go_first_and_the_rest_is_built(
    cache_root: Path, program: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets = tmp_path / "assets"
    assets.mkdir()
    for name in ("etcd", "kubectl", "kube-apiserver"):
        (assets / name).touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    monkeypatch.setenv("PATH", "/nonexistent")
    found = binaries.find("etcd", "kubectl", "kube-apiserver")
    assert found == {name: assets / name for name in ("etcd", "kubectl", "kube-apiserver")}
    with pytest.raises(HarnessError, match="install Go"):
        binaries.find("kubelet")


@pytest.mark.parametrize("tool", sorted(set(binaries.TOOLS) - {"pause"}))
def test_the_versions_are_those_of_the_modules(tool: str) -> None:
    module = (binaries.MODULES / tool / "go.mod").read_text()
    recipe = binaries.TOOLS[tool]
    for package in recipe.programs.values():
        # The module is the longest prefix of the package that is required.
        required = re.findall(
            r"(?m)^\s*(?:require )?(\S+) v([^\s+]+)(?:\+incompatible)?(?: // indirect)?$", module
        )
        versions = {name: version for name, version in required if f"{package}/".startswith(f"{name}/")}
        assert versions[max(versions, key=len)] == recipe.version


def test_every_module_is_in_the_catalogue() -> None:
    assert {path.name for path in binaries.MODULES.iterdir()} == set(binaries.TOOLS)
