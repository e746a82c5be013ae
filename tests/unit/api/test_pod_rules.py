"""The rules on the members' Pods and volumes: what they deny and what they let pass."""

from __future__ import annotations

from typing import Any

import pytest

from app.api.verdict import Reason
from tests.unit.api.checks import faults, warnings
from tests.unit.api.objects import claim, claimed, cluster, with_pod

POD = "spec.pod"
CLAIM = f"{POD}.persistentVolumeClaimSpec"


def env(name: str, value: str | None = "x", **rest: Any) -> dict[str, Any]:
    return with_pod(etcdEnv=[{"name": name, **({} if value is None else {"value": value}), **rest}])


def term(**expression: Any) -> dict[str, Any]:
    """An object with one required term of node affinity."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", **expression}]}]}
    return with_pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def pod_term(kind: str, **parts: Any) -> dict[str, Any]:
    """An object with one required term of affinity between Pods."""
    return with_pod(affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": [parts]}})


TERM = f"{POD}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
POD_TERM = f"{POD}.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
PREFERRED = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 101, "preference": {"matchFields": []}}
        ]
    }
}

_SOURCE = {"kind": "PersistentVolumeClaim", "name": "s"}

DENIED: list[tuple[dict[str, Any], str, Reason, Any]] = [
    (with_pod(labels={"app": "x"}), f"{POD}.labels[app]", Reason.FORBIDDEN, None),
    (with_pod(labels={"etcd_x": "x"}), f"{POD}.labels[etcd_x]", Reason.FORBIDDEN, None),
    (with_pod(labels={"a b": "x"}), f"{POD}.labels[a b]", Reason.INVALID, None),
    (with_pod(labels={"A_/a": "x"}), f"{POD}.labels[A_/a]", Reason.INVALID, None),
    (with_pod(labels={"a": "x y"}), f"{POD}.labels[a]", Reason.INVALID, "x-y"),
    (with_pod(labels={"a": 1}), f"{POD}.labels[a]", Reason.TYPE, None),
    (with_pod(labels=["a"]), f"{POD}.labels", Reason.TYPE, None),
    (with_pod(annotations={"etcd.version": "3"}), f"{POD}.annotations[etcd.version]", Reason.FORBIDDEN, None),
    (
        with_pod(annotations={"etcd.database.coreos.com/revision": "x"}),
        f"{POD}.annotations[etcd.database.coreos.com/revision]",
        Reason.FORBIDDEN,
        None,
    ),
    (with_pod(annotations={"-a": "x"}), f"{POD}.annotations[-a]", Reason.INVALID, None),
    (with_pod(annotations={"a": False}), f"{POD}.annotations[a]", Reason.TYPE, None),
    (with_pod(annotations={"a": "x" * 300_000}), f"{POD}.annotations", Reason.INVALID, None),
    (with_pod(nodeSelector={"a/b/c": "x"}), f"{POD}.nodeSelector[a/b/c]", Reason.INVALID, None),
    (with_pod(resources={"limits": {"cpu": "much"}}), f"{POD}.resources.limits[cpu]", Reason.INVALID, None),
    (with_pod(resources={"limits": {"cpu": -1}}), f"{POD}.resources.limits[cpu]", Reason.INVALID, 0),
    (
        with_pod(resources={"limits": {"disk": "1"}}),
        f"{POD}.resources.limits[disk]",
        Reason.NOT_SUPPORTED,
        None,
    ),
    (
        with_pod(resources={"limits": {"memory": "1Gi"}, "requests": {"memory": "1025Mi"}}),
        f"{POD}.resources.requests[memory]",
        Reason.INVALID,
        "1Gi",
    ),
    (with_pod(resources={"claims": [{"name": "a"}]}), f"{POD}.resources.claims", Reason.FORBIDDEN, None),
    (
        with_pod(tolerations=[{"key": "a", "operator": "Is"}]),
        f"{POD}.tolerations[0].operator",
        Reason.NOT_SUPPORTED,
        "Equal",
    ),
    (
        with_pod(tolerations=[{"operator": "Equal"}]),
        f"{POD}.tolerations[0].operator",
        Reason.INVALID,
        "Exists",
    ),
    (
        with_pod(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        f"{POD}.tolerations[0].value",
        Reason.INVALID,
        "",
    ),
    (
        with_pod(tolerations=[{"key": "a", "effect": "No"}]),
        f"{POD}.tolerations[0].effect",
        Reason.NOT_SUPPORTED,
        "NoSchedule",
    ),
    (
        with_pod(tolerations=[{"key": "a", "tolerationSeconds": 3}]),
        f"{POD}.tolerations[0].effect",
        Reason.INVALID,
        "NoExecute",
    ),
    (with_pod(tolerations=["all"]), f"{POD}.tolerations[0]", Reason.TYPE, None),
    (with_pod(antiAffinity="true"), f"{POD}.antiAffinity", Reason.TYPE, None),
    (term(operator="Contains"), f"{TERM}[0].matchExpressions[0].operator", Reason.NOT_SUPPORTED, None),
    (term(operator="In"), f"{TERM}[0].matchExpressions[0].values", Reason.REQUIRED, None),
    (term(operator="Exists", values=["a"]), f"{TERM}[0].matchExpressions[0].values", Reason.INVALID, []),
    (term(operator="Gt", values=["1", "2"]), f"{TERM}[0].matchExpressions[0].values", Reason.INVALID, None),
    (
        with_pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}),
        TERM,
        Reason.REQUIRED,
        None,
    ),
    (
        with_pod(affinity=PREFERRED),
        f"{POD}.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
        Reason.INVALID,
        100,
    ),
    (pod_term("podAffinity"), f"{POD_TERM}.topologyKey", Reason.REQUIRED, "kubernetes.io/hostname"),
    (pod_term("podAffinity", topologyKey="a b"), f"{POD_TERM}.topologyKey", Reason.INVALID, None),
    (env("ETCD_NAME"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_DATA_DIR"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_INITIAL_CLUSTER_STATE"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_LISTEN_PEER_URLS"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_ADVERTISE_CLIENT_URLS"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_PEER_TRUSTED_CA_FILE"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_CLIENT_CERT_AUTH"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_FORCE_NEW_CLUSTER"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_STRICT_RECONFIG_CHECK"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("ETCD_ENABLE_V2"), f"{POD}.etcdEnv[0].name", Reason.FORBIDDEN, None),
    (env("a=b"), f"{POD}.etcdEnv[0].name", Reason.INVALID, None),
    (env("ä"), f"{POD}.etcdEnv[0].name", Reason.INVALID, None),
    (env(""), f"{POD}.etcdEnv[0].name", Reason.REQUIRED, None),
    (with_pod(etcdEnv=["A=b"]), f"{POD}.etcdEnv[0]", Reason.TYPE, None),
    (with_pod(etcdEnv={"A": "b"}), f"{POD}.etcdEnv", Reason.TYPE, None),
    (with_pod(etcdEnv=[{"name": "A"}, {"name": "A"}]), f"{POD}.etcdEnv[1].name", Reason.DUPLICATE, None),
    (
        with_pod(
            etcdEnv=[{"name": "ETCD_CORRUPT_CHECK_TIME"}, {"name": "ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME"}]
        ),
        f"{POD}.etcdEnv[1].name",
        Reason.DUPLICATE,
        None,
    ),
    (with_pod(etcdEnv=[{"name": "A", "value": 1}]), f"{POD}.etcdEnv[0].value", Reason.TYPE, None),
    (
        env("A", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
        f"{POD}.etcdEnv[0].valueFrom",
        Reason.INVALID,
        None,
    ),
    (env("A", None, valueFrom={}), f"{POD}.etcdEnv[0].valueFrom", Reason.INVALID, None),
    (env("ETCD_QUOTA_BACKEND_BYTES", "8Gi"), f"{POD}.etcdEnv[0].value", Reason.INVALID, "8589934592"),
    (env("ETCD_QUOTA_BACKEND_BYTES", "all"), f"{POD}.etcdEnv[0].value", Reason.INVALID, "2147483648"),
    (
        claimed(accessModes=["ReadWriteMany"]),
        f"{CLAIM}.accessModes[0]",
        Reason.NOT_SUPPORTED,
        "ReadWriteOnce",
    ),
    (claimed(accessModes=[]), f"{CLAIM}.accessModes", Reason.REQUIRED, ["ReadWriteOncePod"]),
    (claimed(accessModes="ReadWriteOnce"), f"{CLAIM}.accessModes", Reason.TYPE, None),
    (claimed(resources=None), f"{CLAIM}.resources.requests[storage]", Reason.REQUIRED, "8Gi"),
    (
        claimed(resources={"requests": {"storage": "0"}}),
        f"{CLAIM}.resources.requests[storage]",
        Reason.INVALID,
        "8Gi",
    ),
    (
        claimed(resources={"requests": {"storage": "2Gi"}, "limits": {"storage": "1Gi"}}),
        f"{CLAIM}.resources.requests[storage]",
        Reason.INVALID,
        "1Gi",
    ),
    (claimed(volumeMode="Block"), f"{CLAIM}.volumeMode", Reason.NOT_SUPPORTED, "Filesystem"),
    (claimed(volumeName="pv-1"), f"{CLAIM}.volumeName", Reason.FORBIDDEN, None),
    (claimed(dataSource=_SOURCE), f"{CLAIM}.dataSource", Reason.FORBIDDEN, None),
    (claimed(dataSourceRef=_SOURCE), f"{CLAIM}.dataSourceRef", Reason.FORBIDDEN, None),
    (with_pod(securityContext={"runAsUser": 0}), f"{POD}.securityContext.runAsUser", Reason.INVALID, 1000),
    (with_pod(securityContext={"fsGroup": -1}), f"{POD}.securityContext.fsGroup", Reason.INVALID, 0),
    (
        with_pod(securityContext={"windowsOptions": {"hostProcess": True}}),
        f"{POD}.securityContext.windowsOptions",
        Reason.FORBIDDEN,
        None,
    ),
    (
        with_pod(securityContext={"seccompProfile": {"type": "None"}}),
        f"{POD}.securityContext.seccompProfile.type",
        Reason.NOT_SUPPORTED,
        "RuntimeDefault",
    ),
    (with_pod(ClusterDomain=".Cluster.Local"), f"{POD}.ClusterDomain", Reason.INVALID, ".cluster.local"),
    (with_pod(ClusterDomain="a..b"), f"{POD}.ClusterDomain", Reason.INVALID, ".cluster.local"),
    (
        with_pod(ClusterDomain=f"{'a' * 63}.{'b' * 63}.{'c' * 63}.d" + "d" * 30),
        f"{POD}.ClusterDomain",
        Reason.INVALID,
        ".cluster.local",
    ),
    (with_pod(ClusterDomain=3), f"{POD}.ClusterDomain", Reason.TYPE, None),
]


@pytest.mark.parametrize(("obj", "path", "reason", "nearest"), DENIED)
def test_denied(obj: dict[str, Any], path: str, reason: Reason, nearest: Any) -> None:
    (fault,) = faults(obj)
    assert (fault.path, fault.reason, fault.nearest) == (path, reason, nearest)
    if nearest is not None:
        assert "the nearest valid value is" in fault.message


ALLOWED = [
    with_pod(labels={"a": "", "example.com/A_b.c": "x"}),
    with_pod(annotations={"Example.com/A": "any text, ☃"}),
    with_pod(
        resources={"limits": {"hugepages-2Mi": "2Mi", "example.com/gpu": 1}, "requests": {"cpu": "1e3"}}
    ),
    with_pod(resources={}),
    with_pod(tolerations=[{"operator": "Exists"}, {"key": "a", "operator": "", "effect": ""}]),
    term(operator="NotIn", values=["a"]),
    term(operator="DoesNotExist"),
    pod_term("podAntiAffinity", topologyKey="topology.kubernetes.io/zone"),
    env("ETCD_INITIAL_ELECTION_TICK_ADVANCE", "false"),
    env("ETCD_PEER_CERT_ALLOWED_CN", "member"),
    env("GOMEMLIMIT", "1GiB"),
    env("A", None),
    env("A", "", valueFrom={"secretKeyRef": {"name": "s", "key": "k"}}),
    claimed(),
    claimed(accessModes=None),
    claimed(accessModes=["ReadWriteOncePod"], volumeMode="Filesystem", storageClassName=""),
    with_pod(securityContext={"runAsUser": 0, "runAsNonRoot": False}),
    with_pod(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}}),
    *(with_pod(ClusterDomain=domain) for domain in ("", ".cluster.local", "cluster.local", ".a.")),
]


@pytest.mark.parametrize("obj", ALLOWED)
def test_allowed(obj: dict[str, Any]) -> None:
    assert faults(obj) == []


GIB = 1024**3


@pytest.mark.parametrize(
    ("quota", "volume", "warned"),
    [
        (str(8 * GIB), "20Gi", []),
        (str(8 * GIB + 1), "20Gi", ["a quota above 8 GiB"]),
        (str(4 * GIB), "8Gi", []),
        (str(5 * GIB), "8Gi", ["above half of the volume"]),
        (str(9 * GIB), "8Gi", ["a quota above 8 GiB", "above half of the volume"]),
        (None, "3Gi", ["above half of the volume"]),
        (None, "10Gi", []),
        ("-1", "10Gi", ["no quota"]),
        ("0", "10Gi", []),
    ],
)
def test_F8_a_quota_that_leaves_no_room_to_defragment_is_warned_of(
    quota: str | None, volume: str, warned: list[str]
) -> None:
    variables = [{"name": "ETCD_QUOTA_BACKEND_BYTES", "value": quota}] if quota else []
    obj = with_pod(
        etcdEnv=variables, persistentVolumeClaimSpec=claim(resources={"requests": {"storage": volume}})
    )
    texts = warnings(obj)
    assert len(texts) == len(warned)
    for text, part in zip(texts, warned, strict=True):
        assert part in text


@pytest.mark.parametrize(
    ("version", "name", "nearest"),
    [
        ("3.7.3", "ETCD_EXPERIMENTAL_MEMORY_MLOCK", "ETCD_MEMORY_MLOCK"),
        ("3.7.3", "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", "ETCD_FEATURE_GATES=InitialCorruptCheck=true"),
        ("3.6.16", "ETCD_PROXY", None),
        ("3.5.35", "ETCD_FEATURE_GATES", None),
    ],
)
def test_a_setting_that_the_version_would_ignore(version: str, name: str, nearest: str | None) -> None:
    (fault,) = faults(cluster(version=version, pod={"etcdEnv": [{"name": name, "value": "x"}]}))
    assert (fault.path, fault.nearest) == ("spec.pod.etcdEnv[0].name", nearest)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("3.6.16", "ETCD_EXPERIMENTAL_MEMORY_MLOCK"),
        ("3.7.3", "ETCD_FEATURE_GATES"),
        ("3.5.35", "ETCD_ENABLE_V2"),
        ("3.2.13", "ETCD_EXPERIMENTAL_CORRUPT_CHECK_TIME"),
        ("nonsense", "ETCD_FEATURE_GATES"),
    ],
)
def test_a_setting_that_the_version_has(version: str, name: str) -> None:
    found = faults(cluster(version=version, pod={"etcdEnv": [{"name": name, "value": "x"}]}))
    assert [fault for fault in found if fault.path != "spec.version"] == []
