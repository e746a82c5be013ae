"""What an update may change: versions by their path, storage, names of hosts, TLS."""

from __future__ import annotations

from typing import Any

import pytest

from app.api.verdict import Reason
from tests.unit.api.checks import faults_of_change
from tests.unit.api.objects import claim, claimed, cluster, static_tls, with_pod

CLAIM = "spec.pod.persistentVolumeClaimSpec"


def running(*versions: str, spec: str) -> dict[str, Any]:
    """A cluster whose members run these versions and whose spec asks for another."""
    members = [{"name": f"a-{n}", "version": version} for n, version in enumerate(versions)]
    return cluster(size=3, version=spec, status={"memberStatus": members, "currentVersion": versions[0]})


@pytest.mark.parametrize(
    ("old", "new", "nearest", "words"),
    [
        ("3.4.23", "3.6.16", "3.5.35", "one minor version at a time"),
        ("3.5.35", "3.7.3", "3.6.16", "one minor version at a time"),
        ("3.2.13", "3.5.35", "3.3.0", "one minor version at a time"),
        ("3.5.25", "3.6.16", "3.5.35", "3.6 needs 3.5.26 or later first"),
        ("3.5.4", "3.7.3", "3.5.35", "3.6 needs 3.5.26 or later first"),
        ("3.6.10", "3.7.3", "3.6.16", "3.7 needs 3.6.11 or later first"),
        ("3.6.16", "3.5.35", "3.6.16", "cannot go back"),
        ("v3.7.3", "v3.6.16", "3.7.3", "cannot go back"),
    ],
)
def test_D3_steps_that_etcd_cannot_take(old: str, new: str, nearest: str, words: str) -> None:
    (fault,) = faults_of_change(cluster(version=old), cluster(version=new))
    assert (fault.path, fault.reason, fault.value) == ("spec.version", Reason.FORBIDDEN, new)
    assert fault.nearest == nearest
    assert words in fault.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3.4.23", "3.5.35"),
        ("3.5.26", "3.6.0"),
        ("3.6.11", "3.7.3"),
        ("3.6.16", "3.6.4"),
        ("3.6.4", "3.6.99"),
        ("3.6.16", "v3.6.16"),
        ("v3.6.16", "3.6.16"),
        ("3.2.13", "3.3.27"),
        ("latest", "3.6.16"),
    ],
)
def test_D3_steps_that_etcd_can_take(old: str, new: str) -> None:
    assert faults_of_change(cluster(version=old), cluster(version=new)) == []


def test_D3_what_members_run_counts_and_not_what_was_asked_for() -> None:
    stuck = running("3.5.35", "3.5.35", "3.5.35", spec="3.6.16")
    assert faults_of_change(stuck, cluster(version="3.7.3"))[0].nearest == "3.6.16"
    assert faults_of_change(stuck, cluster(version="3.5.34")) == []


def test_D3_half_way_the_way_back_is_open() -> None:
    half_way = running("3.6.16", "3.5.35", "3.5.35", spec="3.6.16")
    assert faults_of_change(half_way, cluster(version="3.5.35")) == []
    assert [fault.nearest for fault in faults_of_change(half_way, cluster(version="3.5.34"))] == ["3.6.16"]


def test_D3_all_the_way_it_is_closed() -> None:
    done = running("3.6.16", "3.6.16", "3.6.16", spec="3.6.16")
    assert [fault.nearest for fault in faults_of_change(done, cluster(version="3.5.35"))] == ["3.6.16"]


def test_D3_a_skipped_minor_counts_from_the_oldest_member() -> None:
    half_way = running("3.6.16", "3.5.35", "3.6.16", spec="3.6.16")
    assert [fault.nearest for fault in faults_of_change(half_way, cluster(version="3.7.3"))] == ["3.6.16"]


DENIED = [
    (claimed(), with_pod(), CLAIM, None),
    (with_pod(), claimed(), CLAIM, None),
    (claimed(), cluster(size=3), CLAIM, None),
    (claimed(), claimed(storageClassName="slow"), f"{CLAIM}.storageClassName", "fast"),
    (claimed(), claimed(storageClassName=None), f"{CLAIM}.storageClassName", "fast"),
    (claimed(storageClassName=None), claimed(), f"{CLAIM}.storageClassName", None),
    (claimed(), claimed(accessModes=["ReadWriteOncePod"]), f"{CLAIM}.accessModes", ["ReadWriteOnce"]),
    (
        claimed(),
        claimed(resources={"requests": {"storage": "9.9Gi"}}),
        f"{CLAIM}.resources.requests[storage]",
        "10Gi",
    ),
    (claimed(), claimed(resources={}), f"{CLAIM}.resources.requests[storage]", "10Gi"),
    (with_pod(), with_pod(ClusterDomain=".a"), "spec.pod.ClusterDomain", None),
    (with_pod(ClusterDomain=".a"), with_pod(ClusterDomain=".b"), "spec.pod.ClusterDomain", ".a"),
    (cluster(), cluster(TLS=static_tls()), "spec.TLS", None),
    (cluster(TLS=static_tls()), cluster(), "spec.TLS", None),
    (cluster(TLS=static_tls()), cluster(TLS=static_tls(peer=None)), "spec.TLS", None),
    (cluster(TLS=static_tls(peer=None)), cluster(TLS=static_tls()), "spec.TLS", None),
]


@pytest.mark.parametrize(("old", "new", "path", "nearest"), DENIED)
def test_denied(old: dict[str, Any], new: dict[str, Any], path: str, nearest: Any) -> None:
    (fault,) = faults_of_change(old, new)
    assert (fault.path, fault.reason, fault.nearest) == (path, Reason.FORBIDDEN, nearest)


ALLOWED = [
    (claimed(), claimed(resources={"requests": {"storage": "11Gi"}})),
    (claimed(), claimed(resources={"requests": {"storage": 10 * 1024**3}})),
    (claimed(), with_pod(persistentVolumeClaimSpec=claim(), labels={"a": "b"})),
    (cluster(), cluster(pod={})),
    (cluster(pod={"ClusterDomain": ""}), cluster()),
    (cluster(TLS={}), cluster()),
    (cluster(TLS=static_tls()), cluster(TLS=static_tls(peer="a", server="b", operator="c"))),
]


@pytest.mark.parametrize(("old", "new"), ALLOWED)
def test_allowed(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert faults_of_change(old, new) == []
