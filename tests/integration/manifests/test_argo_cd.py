"""Argo CD's health of an EtcdCluster, by the Lua that it runs, on statuses as the operator writes them."""

import json
import os
import subprocess
from typing import Any

import pytest

from tests.cluster.packages import extracted_with_dependencies
from tests.e2e.installation import MANIFESTS

pytestmark = pytest.mark.integration

SCRIPT = MANIFESTS / "argo-cd" / "etcd_cluster_health.lua"


def lua(value: Any) -> str:
    """A value as Lua writes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"[{json.dumps(key)}]={lua(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ",".join(map(lua, value)) + "}"
    return json.dumps(value)


def health(obj: dict[str, Any]) -> tuple[str, str]:
    """What the script says: health and message."""
    files = extracted_with_dependencies("lua5.4")
    libraries = ":".join(str(path) for path in files.glob("usr/lib/*-linux-gnu"))
    program = (
        f"obj = {lua(obj)}\nlocal h = dofile({json.dumps(str(SCRIPT))})\nprint(h.status)\nprint(h.message)"
    )
    done = subprocess.run(
        [files / "usr/bin/lua5.4", "-e", program],
        env=os.environ | {"LD_LIBRARY_PATH": libraries},
        capture_output=True,
        text=True,
        check=True,
    )
    status, message = done.stdout.splitlines()
    return status, message


def cluster(
    *, generation: int = 1, phase: str = "Running", paused: bool = False, **true: str
) -> dict[str, Any]:
    """An EtcdCluster whose named conditions are True, with their messages; the others are False."""
    types = ("Available", "Ready", "Progressing", "Degraded", "Stalled")
    conditions = [
        {"type": kind, "status": str(kind in true), "reason": "Because", "message": true.get(kind, "")}
        for kind in types
    ]
    status = {"observedGeneration": 1, "phase": phase, "controlPaused": paused, "conditions": conditions}
    return {"metadata": {"generation": generation}, "spec": {}, "status": status}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"metadata": {"generation": 1}, "spec": {}}, "Progressing"),
        (cluster(Ready="all", Available="yes"), "Healthy"),
        (cluster(generation=2, Ready="all"), "Progressing"),
        (cluster(phase="Creating", Progressing="founding"), "Progressing"),
        (cluster(Available="yes", Degraded="one is down", Progressing="healing"), "Degraded"),
        (cluster(phase="Failed", Degraded="quorum lost"), "Degraded"),
        (cluster(Stalled="spec invalid", Ready="no"), "Degraded"),
        (cluster(paused=True, Ready="all"), "Suspended"),
    ],
)
def test_health(obj: dict[str, Any], expected: str) -> None:
    status, message = health(obj)
    assert status == expected
    assert message


def test_the_message_is_the_conditions() -> None:
    assert health(cluster(Stalled="spec.size: 0 is too small"))[1] == "spec.size: 0 is too small"
    assert health(cluster(phase="Failed"))[1] == "Because"
