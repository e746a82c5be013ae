"""CRDs of other projects, which manifests of ours have objects of: out of their pinned Go modules.

Go's module cache is a good place to get files from: each module is one archive, and go.sum has its hash.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import cache
from tests.cluster.errors import HarnessError
from tests.cluster.progress import step

_MODULE = Path(__file__).with_name("crds")
_FILES = {
    "github.com/cert-manager/cert-manager": (
        "deploy/crds/crd-certificates.yaml",
        "deploy/crds/crd-issuers.yaml",
    ),
    "github.com/prometheus-operator/prometheus-operator": (
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
}


def ensure() -> list[dict[str, Any]]:
    """The CRDs of Certificate, Issuer, PodMonitor and PrometheusRule.

    Raises HarnessError if there is no Go, or no way to the modules, or one of them isn't what go.sum says.
    """
    pins = [(_MODULE / name).read_bytes() for name in ("go.mod", "go.sum")]
    files = [file for files in _FILES.values() for file in files]
    place = cache.entry("crds", f"crds-{cache.key(*pins, *files)}", _fetch)
    return [_crd((place / Path(file).name).read_text()) for file in files]


def _crd(text: str) -> dict[str, Any]:
    """Read one; cert-manager's are templates of Helm, whose only values are labels."""
    crd: dict[str, Any] = yaml.safe_load(text)
    crd["metadata"].pop("labels", None)
    return crd


def _fetch(out: Path) -> None:
    with step("Downloading the CRDs of cert-manager and the Prometheus operator", expected_seconds=60):
        versions = {one["Path"]: one["Version"] for one in _go("mod", "edit", "-json")["Require"]}
        sums = (_MODULE / "go.sum").read_text().splitlines()
        for module, files in _FILES.items():
            found = _go("mod", "download", "-json", f"{module}@{versions[module]}")
            if f"{module} {found['Version']} {found['Sum']}" not in sums:
                raise HarnessError(f"{module} {found['Version']} is not what go.sum says: {found['Sum']}")
            for file in files:
                shutil.copyfile(Path(found["Dir"], file), out / Path(file).name)


def _go(*arguments: str) -> dict[str, Any]:
    go = shutil.which("go")
    if go is None:
        raise HarnessError("Go is needed to download modules: https://go.dev/doc/install")
    done = subprocess.run(
        [go, *arguments],
        cwd=_MODULE,
        env=os.environ | {"GOWORK": "off", "GOFLAGS": "-mod=readonly"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise HarnessError(f"`go {' '.join(arguments)}` failed: {(done.stderr or done.stdout).strip()}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
