"""The models accept what the old operator wrote, and keep what a newer one added."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from app.api.backup import EtcdBackup
from app.api.cluster import EtcdCluster
from app.api.restore import EtcdRestore
from app.api.status import ClusterStatus
from tests.unit.api.objects import EXAMPLE, FULL, OLD, OLD_STATUS, cluster, static_tls, with_pod


@pytest.mark.parametrize("obj", [EXAMPLE, FULL, OLD], ids=["example", "full", "old"])
def test_H14_objects_of_the_old_operator_are_readable(obj: dict[str, Any]) -> None:
    read = EtcdCluster.model_validate(obj)
    assert read.metadata.name == obj["metadata"]["name"]
    assert read.spec.size == obj["spec"]["size"]


def test_H14_the_old_status_is_readable() -> None:
    status = ClusterStatus.model_validate(OLD_STATUS)
    assert status.phase == "Running"
    assert [condition.reason for condition in status.conditions] == ["Cluster available", "Scaling up"]
    assert status.conditions[0].last_update_time == "2019-03-01T10:00:00Z"
    assert status.members.unready == ("example-mmmmmmmmmm",)


def test_H14_a_status_with_null_conditions_is_readable() -> None:
    assert ClusterStatus.model_validate({**OLD_STATUS, "conditions": None}).conditions == ()


OPTIONAL = (
    "pod", "TLS", "pod.labels", "pod.annotations", "pod.nodeSelector", "pod.affinity", "pod.resources",
    "pod.tolerations", "pod.etcdEnv", "pod.persistentVolumeClaimSpec", "pod.securityContext", "TLS.static",
    "TLS.static.member",
)  # fmt: skip


@pytest.mark.parametrize("path", OPTIONAL)
@pytest.mark.parametrize("value", [None, {}], ids=["null", "empty"])
def test_H15_every_optional_block_may_be_null_or_empty(path: str, value: Any) -> None:
    if path in {"pod.tolerations", "pod.etcdEnv"} and value is not None:
        value = []
    spec: Any = value
    for step in reversed(path.split(".")):
        spec = {step: spec}
    read = EtcdCluster.model_validate(cluster(size=3, **spec))
    assert read.spec.pod.etcd_env == ()
    assert not read.spec.client_tls


def test_H15_an_object_without_spec_and_status_is_readable() -> None:
    read = EtcdCluster.model_validate({"metadata": {"name": "a"}})
    assert read.spec.size is None
    assert read.status.journal.latch is None


def test_the_old_spellings_are_the_aliases() -> None:
    pod = EtcdCluster.model_validate(
        with_pod(DNSTimeoutInSecond=3, ClusterDomain=".a", busyboxImage="b")
    ).spec.pod
    assert (pod.dns_timeout_in_second, pod.cluster_domain, pod.busybox_image) == (3, ".a", "b")
    spec = EtcdCluster.model_validate(cluster(TLS=static_tls())).spec
    assert spec.client_tls
    assert spec.peer_tls
    assert (
        EtcdBackup.model_validate({"status": {"Reason": "x", "lastSuccessDate": None}}).status.reason == "x"
    )
    assert EtcdRestore.model_validate({"spec": {"etcdCluster": {"name": "a"}}}).spec.etcd_cluster.name == "a"


def test_what_a_newer_operator_remembered_is_kept() -> None:
    journal = {
        "latch": {
            "clusterID": "ab",
            "members": {"a-1": {"id": "1", "pvcUID": "u", "newer": 1}},
            "newer": [1],
        },
        "newer": {"x": None},
    }
    written = ClusterStatus.model_validate({"journal": journal, "newer": "y"}).to_json()
    assert written["newer"] == "y"
    assert written["journal"]["newer"] == {"x": None}
    assert written["journal"]["latch"]["newer"] == [1]
    assert written["journal"]["latch"]["members"]["a-1"]["newer"] == 1


def test_a_status_survives_reading_and_writing() -> None:
    status = ClusterStatus.model_validate(
        {**OLD_STATUS, "journal": {"bootstrap": {"members": ["a"], "token": "t"}}}
    )
    assert ClusterStatus.model_validate(status.to_json()) == status
    times = [condition["lastTransitionTime"] for condition in status.to_json()["conditions"]]
    assert times == ["2019-03-01T10:00:00Z", ""]


def test_models_cannot_be_changed() -> None:
    read = EtcdCluster.model_validate(EXAMPLE)
    with pytest.raises(ValidationError):
        read.spec.size = 5  # type: ignore[misc]  # that it is refused is the point
