"""The Pods of a recovery."""

from typing import Any

import pytest

from app.api.cluster import ClusterSpec
from app.build.common import Platform, selector
from app.build.helper import helper
from app.plan.actions import CreateHelper, CreatePod
from app.plan.observed import ClusterRef, Task

CLUSTER = ClusterRef(name="c", namespace="ns", uid="uid-1", generation=1)
START = CreatePod(member="c-abc", peer_url="http://c-abc.c.ns.svc:2380", annotations={}, token="t")
SPEC = ClusterSpec.model_validate(
    {
        "size": 3,
        "version": "3.6.16",
        "repository": "r",
        "pod": {
            "labels": {"mine": "yes"},
            "persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}},
        },
    }
)


def build(task: Task) -> dict[str, Any]:
    return helper(CLUSTER, SPEC, CreateHelper(START, task, "t-1"), platform=Platform(), operator_image="op:1")


@pytest.mark.parametrize("task", list(Task))
def test_no_service_reaches_it_and_nothing_starts_it_again(task: Task) -> None:
    made = build(task)

    assert made["metadata"]["name"] == f"c-abc-{task}"
    assert not selector("c").items() <= made["metadata"]["labels"].items()
    assert "mine" not in made["metadata"]["labels"]
    assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
    assert made["spec"]["restartPolicy"] == "Never"
    assert "hostname" not in made["spec"]
    assert "subdomain" not in made["spec"]
    (container,) = made["spec"]["containers"]
    assert not [name for name in container if name.endswith("Probe")]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert made["spec"]["securityContext"]["runAsUser"] == 1000
    assert made["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == "c-abc"


def test_a_log_is_read_by_the_operators_image_and_cannot_be_written() -> None:
    (container,) = build(Task.INSPECT)["spec"]["containers"]

    assert container["image"] == "op:1"
    assert container["command"] == ["etcd-operator", "inspect-wal", "/var/etcd/data/member/wal"]
    assert container["volumeMounts"] == [{"name": "etcd-data", "mountPath": "/var/etcd", "readOnly": True}]


def test_etcd_forgets_the_others_in_its_own_image() -> None:
    (container,) = build(Task.FORCE)["spec"]["containers"]

    assert container["image"] == "r:v3.6.16"
    assert container["command"][0] == "/usr/local/bin/etcd"
    assert container["command"][-1] == "--force-new-cluster"


def test_the_log_is_committed_before_etcd_forgets_the_others() -> None:
    (first,) = build(Task.FORCE)["spec"]["initContainers"]

    assert first["image"] == "op:1"
    assert first["command"] == ["etcd-operator", "commit-wal", "/var/etcd/data/member/wal"]
    assert first["volumeMounts"][0]["readOnly"] is False
    assert first["securityContext"]["readOnlyRootFilesystem"] is True
