"""Objects as users write them and as the old operator left them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.api.base import JsonObject


def cluster(*, name: str = "example", status: JsonObject | None = None, **spec: Any) -> JsonObject:
    """An EtcdCluster with this spec and nothing else in it."""
    obj: JsonObject = {
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
    return obj if status is None else {**obj, "status": status}


def with_pod(**pod: Any) -> JsonObject:
    """An EtcdCluster with this in spec.pod."""
    return cluster(size=3, version="3.6.16", pod=pod)


def claim(**changes: Any) -> JsonObject:
    """A persistentVolumeClaimSpec of 10Gi; a change of ``None`` leaves the key out."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "10Gi"}},
        **changes,
    }
    return {key: value for key, value in spec.items() if value is not None}


def claimed(**changes: Any) -> JsonObject:
    """An EtcdCluster on volumes."""
    return with_pod(persistentVolumeClaimSpec=claim(**changes))


def static_tls(
    *, peer: str | None = "peer", server: str | None = "server", operator: str | None = "op"
) -> JsonObject:
    """A TLS block of Secrets; ``None`` leaves one out."""
    member = {key: value for key, value in (("peerSecret", peer), ("serverSecret", server)) if value}
    return {"static": {"member": member, **({"operatorSecret": operator} if operator else {})}}


EXAMPLE = cluster(name="example-etcd-cluster", size=3, version="3.2.13")
"""The old operator's example."""

FULL = with_pod(
    labels={"team": "storage", "example.com/tier": "1"},
    annotations={"example.com/Owner": "somebody at example.com"},
    nodeSelector={"disk": "ssd"},
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                            {"key": "cores", "operator": "Gt", "values": ["3"]},
                        ]
                    }
                ]
            }
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {
                            "matchExpressions": [{"key": "etcd_cluster", "operator": "Exists"}]
                        },
                    },
                }
            ]
        },
    },
    resources={"limits": {"cpu": 2, "memory": "8Gi"}, "requests": {"cpu": "500m", "memory": "4Gi"}},
    tolerations=[
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        {"key": "dedicated", "value": "etcd", "effect": "NoSchedule"},
    ],
    etcdEnv=[
        {"name": "ETCD_QUOTA_BACKEND_BYTES", "value": "4294967296"},
        {"name": "ETCD_AUTO_COMPACTION_RETENTION", "value": "1h"},
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ],
    persistentVolumeClaimSpec=claim(),
    securityContext={"runAsUser": 1000, "fsGroup": 1000},
    containerSecurityContext={"runAsUser": 1001, "capabilities": {"drop": ["ALL"]}},
    topologySpreadConstraints=[
        {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"},
        {
            "topologyKey": "topology.kubernetes.io/zone",
            "maxSkew": 2,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"team": "storage"}},
        },
    ],
    priorityClassName="high",
    runtimeClassName="gvisor",
    schedulerName="default-scheduler",
    serviceAccountName="etcd",
    imagePullSecrets=[{"name": "registry"}],
    imagePullPolicy="IfNotPresent",
    terminationGracePeriodSeconds=60,
    tmpfs=False,
    ClusterDomain=".cluster.local",
)
"""Every field that this version honours."""

OLD_STATUS = {
    "phase": "Running",
    "reason": "",
    "controlPaused": False,
    "conditions": [
        {
            "type": "Available",
            "status": "True",
            "lastUpdateTime": "2019-03-01T10:00:00Z",
            "lastTransitionTime": "2019-03-01T10:00:00Z",
            "reason": "Cluster available",
        },
        {
            "type": "Scaling",
            "status": "True",
            "lastUpdateTime": "2019-03-01T10:00:00+01:00",
            "lastTransitionTime": "",
            "reason": "Scaling up",
            "message": "Current cluster size: 1, desired cluster size: 3",
        },
    ],
    "size": 3,
    "serviceName": "example-client",
    "clientPort": 2379,
    "members": {"ready": ["example-4jm2p9x7qk", "example-9cz6bkxq2d"], "unready": ["example-mmmmmmmmmm"]},
    "currentVersion": "3.2.13",
    "targetVersion": "",
}
"""A status as the old operator wrote it."""

OLD = {
    **cluster(
        size=8,
        repository="quay.io/coreos/etcd",
        version="3.2.13",
        pod={
            "labels": {"app": "mine"},
            "antiAffinity": True,
            "affinity": {"podAntiAffinity": {}},
            "resources": {},
            "persistentVolumeClaimSpec": {"accessModes": ["ReadWriteMany"], "resources": {}},
            "busyboxImage": "busybox:1.28.0-glibc",
            "DNSTimeoutInSecond": 30,
            "ClusterDomain": "",
        },
        TLS={"static": {"operatorSecret": "op"}},
    ),
    "status": OLD_STATUS,
}
"""What the old operator let in, much of it wrong by today's rules."""


def changed(obj: JsonObject, path: str, value: Any) -> JsonObject:
    """A copy with another value at a dotted path."""
    result = copy.deepcopy(obj)
    node = result
    *parents, last = path.split(".")
    for step in parents:
        node = node.setdefault(step, {})
    node[last] = value
    return result


def without(obj: JsonObject, path: str) -> JsonObject:
    """A copy without what is at a dotted path."""
    result = copy.deepcopy(obj)
    node = result
    *parents, last = path.split(".")
    for step in parents:
        node = node[step]
    del node[last]
    return result
