"""The rules on a cluster as a whole: name, size, image, TLS; what they deny and what they let pass."""

from __future__ import annotations

from typing import Any

import pytest

from app.api.verdict import Reason
from tests.unit.api.checks import faults, warnings
from tests.unit.api.objects import FULL, cluster, static_tls, with_pod

STATIC = "spec.TLS.static"

DENIED: list[tuple[dict[str, Any], str, Reason, Any]] = [
    (cluster(size=0), "spec.size", Reason.INVALID, 1),
    (cluster(size=-4), "spec.size", Reason.INVALID, 1),
    (cluster(size=8), "spec.size", Reason.INVALID, 7),
    (cluster(size=9.0), "spec.size", Reason.INVALID, 7),
    (cluster(size=True), "spec.size", Reason.TYPE, None),
    (cluster(size="3"), "spec.size", Reason.TYPE, None),
    (cluster(dataRetention="Keep"), "spec.dataRetention", Reason.NOT_SUPPORTED, "Delete"),
    (cluster(dataRetention=True), "spec.dataRetention", Reason.NOT_SUPPORTED, "Delete"),
    (cluster(podDisruptionBudget="no"), "spec.podDisruptionBudget", Reason.TYPE, None),
    (cluster(size=3.5), "spec.size", Reason.TYPE, None),
    (cluster(paused="yes"), "spec.paused", Reason.TYPE, None),
    (cluster(repository=""), "spec.repository", Reason.INVALID, "quay.io/coreos/etcd"),
    (cluster(repository="quay.io/a/etcd:v3"), "spec.repository", Reason.INVALID, "quay.io/a/etcd"),
    (cluster(repository="a/b@sha256:00"), "spec.repository", Reason.INVALID, "a/b"),
    (cluster(repository="http://a/b"), "spec.repository", Reason.INVALID, "quay.io/coreos/etcd"),
    (cluster(repository="a" * 256), "spec.repository", Reason.INVALID, "quay.io/coreos/etcd"),
    (cluster(repository=3), "spec.repository", Reason.TYPE, None),
    (cluster(version=""), "spec.version", Reason.INVALID, "3.6.16"),
    (cluster(version="latest"), "spec.version", Reason.INVALID, "3.6.16"),
    (cluster(version="3.5"), "spec.version", Reason.INVALID, "3.5.35"),
    (cluster(version="3.6.16+build"), "spec.version", Reason.INVALID, "3.6.16"),
    (cluster(version="3.6.٣"), "spec.version", Reason.INVALID, "3.6.16"),
    (cluster(version=3.6), "spec.version", Reason.TYPE, None),
    (cluster(version="2.3.8"), "spec.version", Reason.INVALID, "3.4.23"),
    (cluster(version="3.0.17"), "spec.version", Reason.INVALID, "3.4.23"),
    (cluster(version="v3.1.20"), "spec.version", Reason.INVALID, "3.4.23"),
    (cluster(version="3.8.0"), "spec.version", Reason.INVALID, "3.7.3"),
    (cluster(version="4.0.0"), "spec.version", Reason.INVALID, "3.7.3"),
    (cluster(version="3.5.0"), "spec.version", Reason.INVALID, "3.5.35"),
    (cluster(version="vv3.5.2-vendor.1"), "spec.version", Reason.INVALID, "3.5.35"),
    (cluster(version="3.5.5"), "spec.version", Reason.INVALID, "3.5.35"),
    (cluster(TLS={}), "spec.TLS", Reason.INVALID, None),
    (cluster(TLS={**static_tls(), "certManager": {}}), "spec.TLS", Reason.INVALID, None),
    (cluster(TLS={"static": {}}), STATIC, Reason.REQUIRED, None),
    (cluster(TLS=static_tls(operator=None)), f"{STATIC}.operatorSecret", Reason.REQUIRED, None),
    (cluster(TLS=static_tls(server=None)), f"{STATIC}.member.serverSecret", Reason.REQUIRED, None),
    (cluster(TLS=static_tls(peer="A_b")), f"{STATIC}.member.peerSecret", Reason.INVALID, None),
    (
        cluster(TLS={"static": {"operatorSecret": 3, "member": {"serverSecret": "a"}}}),
        f"{STATIC}.operatorSecret",
        Reason.TYPE,
        None,
    ),
    (cluster(pod=[]), "spec.pod", Reason.TYPE, None),
    (cluster(TLS="static"), "spec.TLS", Reason.TYPE, None),
]


@pytest.mark.parametrize(("obj", "path", "reason", "nearest"), DENIED)
def test_denied(obj: dict[str, Any], path: str, reason: Reason, nearest: Any) -> None:
    (fault,) = faults(obj)
    assert (fault.path, fault.reason, fault.nearest) == (path, reason, nearest)
    if nearest is not None:
        assert "the nearest valid value is" in fault.message


ALLOWED = [
    FULL,
    *(cluster(size=size) for size in range(1, 8)),
    cluster(size=3.0),
    cluster(),
    cluster(paused=False),
    cluster(podDisruptionBudget=False),
    cluster(dataRetention="Retain"),
    *(
        cluster(version=version)
        for version in ("3.2.13", "v3.3.27", "3.4.23", "3.5.35", "3.6.16-vendor.1", "3.7.3")
    ),
    *(
        cluster(repository=repository)
        for repository in ("etcd", "localhost:5000/etcd", "gcr.io/etcd-development/etcd", "a.b-c/d__e/f-g.h")
    ),
    cluster(TLS=static_tls()),
    cluster(TLS=static_tls(server=None, operator=None)),
    cluster(TLS=static_tls(peer=None)),
    cluster(TLS={"operatorManaged": {}}),
    cluster(pod={}),
    cluster(pod=None, TLS=None),
]


@pytest.mark.parametrize("obj", ALLOWED)
def test_allowed(obj: dict[str, Any]) -> None:
    assert faults(obj) == []


@pytest.mark.parametrize("size", [2, 4, 6])
def test_C6_even_sizes_pass_with_a_warning_that_names_the_neighbours(size: int) -> None:
    warned = [text for text in warnings(cluster(size=size)) if text.startswith("spec.size")]
    assert warned == [
        f"spec.size: {size} members survive no more failures than {size - 1}; use {size - 1} or {size + 1}"
    ]


@pytest.mark.parametrize(("size", "nearest"), [(0, 1), (8, 7), (9, 7), (-1, 1)])
def test_C6_sizes_out_of_range_are_denied_with_the_nearest(size: int, nearest: int) -> None:
    (fault,) = faults(cluster(size=size))
    assert str(fault) == (
        f"spec.size: Invalid value: {size}: must be from 1 to 7; the nearest valid value is {nearest}"
    )


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("3.5.4", True),
        ("3.5.15", True),
        ("3.5.23", True),
        ("3.5.24", False),
        ("3.4.23", False),
        ("3.6.16", False),
    ],
)
def test_C10_an_etcd_that_may_forget_a_promotion_is_told_of_before_it_grows(version: str, told: bool) -> None:
    warned = [text for text in warnings(cluster(version=version, size=1)) if "promotion" in text]
    assert bool(warned) is told
    assert all("3.5.26 or later before it grows" in text for text in warned)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("a" * 53, "a" * 52),
        ("a" * 51 + "-bc", "a" * 51),
        ("1st", "st"),
        ("a.b", "a-b"),
        ("Big", "big"),
        ("a-", "a"),
        ("7", "etcd"),
    ],
)
def test_H6_names_that_no_service_or_host_can_have(name: str, nearest: str) -> None:
    (fault,) = faults(cluster(name=name))
    assert (fault.path, fault.nearest) == ("metadata.name", nearest)
    if len(name) > 52:
        assert "at most 52 characters" in fault.message


@pytest.mark.parametrize("name", ["a", "a-1", "a" * 52])
def test_H6_the_longest_name_passes(name: str) -> None:
    assert faults(cluster(name=name)) == []


@pytest.mark.parametrize(
    ("prefix", "allowed"), [("a" * 47, True), ("etcd-", True), ("a" * 48, False), ("1a-", False)]
)
def test_H6_a_generated_name_is_checked_by_its_prefix(prefix: str, allowed: bool) -> None:
    obj = {**cluster(size=3), "metadata": {"generateName": prefix}}
    assert (faults(obj) == []) is allowed
    assert all(fault.path == "metadata.generateName" for fault in faults(obj))


@pytest.mark.parametrize("metadata", [None, {}, {"name": ""}, "text"])
def test_an_object_without_a_name(metadata: Any) -> None:
    assert [fault.reason for fault in faults({"metadata": metadata, "spec": {}})] == [Reason.REQUIRED]


def test_E3_one_half_of_client_tls_names_the_other() -> None:
    (fault,) = faults(cluster(TLS={"static": {"operatorSecret": "op"}}))
    assert fault.path == "spec.TLS.static.member.serverSecret"


@pytest.mark.parametrize(
    ("obj", "part"),
    [
        (cluster(version="3.2.13"), "untested"),
        (cluster(version="3.3.27"), "untested"),
        (cluster(version="3.5.32"), "use 3.5.33 or later"),
        (cluster(version="3.6.13"), "use 3.6.14 or later"),
        (cluster(version="3.7.0"), "use 3.7.1 or later"),
        (cluster(), "emptyDir"),
        (with_pod(busyboxImage="busybox"), "busyboxImage: has no effect"),
        (with_pod(DNSTimeoutInSecond=30), "DNSTimeoutInSecond: has no effect"),
        (with_pod(antiAffinity=True), "use spec.pod.affinity"),
        (with_pod(antiAffinity=True, affinity={}), "has no effect beside affinity"),
        (with_pod(securityContext={"runAsNonRoot": False}), "restricted Pod Security profile"),
    ],
)
def test_allowed_and_warned(obj: dict[str, Any], part: str) -> None:
    assert faults(obj) == []
    assert any(part in text for text in warnings(obj))
    assert all(len(text) <= 120 for text in warnings(obj))


@pytest.mark.parametrize("version", ["3.4.23", "3.5.33", "3.6.14", "3.7.1", "3.6.16"])
def test_a_version_without_known_faults_is_not_warned_of(version: str) -> None:
    assert not [text for text in warnings(cluster(version=version)) if text.startswith("spec.version")]
