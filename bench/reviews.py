"""A review as the API server sends it, of about 3 KB: a cluster with what people really fill in."""

from typing import Any

import msgspec

GROUP = "etcd.database.coreos.com"
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
_OWN: dict[str, Any] = {
    "f:size": {},
    "f:version": {},
    "f:repository": {},
    "f:pod": {"f:labels": {}, "f:resources": {}},
}


def cluster(name: str = "example-etcd-cluster") -> dict[str, Any]:
    """An EtcdCluster that every server under measurement allows."""
    in_this_cluster = {"matchLabels": {"app": "etcd", "etcd_cluster": name}}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "EtcdCluster",
        "metadata": {
            "name": name,
            "namespace": "production",
            "uid": "0e6c8dc2-07d1-4a30-b7a8-6a0f5f9cba3f",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app.kubernetes.io/part-of": "shop", "team": "storage", "environment": "production"},
            "annotations": {"contact": "storage@example.com", "runbook": "https://example.com/runbooks/etcd"},
            "managedFields": [
                {
                    "manager": "kubectl",
                    "operation": "Apply",
                    "apiVersion": f"{GROUP}/v1beta2",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:metadata": {
                            "f:labels": {
                                "f:app.kubernetes.io/part-of": {},
                                "f:team": {},
                                "f:environment": {},
                            }
                        },
                        "f:spec": _OWN,
                    },
                }
            ],
        },
        "spec": {
            "size": 3,
            "repository": "quay.io/coreos/etcd",
            "version": "3.6.16",
            "pod": {
                "labels": {"app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": name},
                "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "2381"},
                "nodeSelector": {"kubernetes.io/arch": "amd64", "node-role.example.com/storage": "true"},
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"labelSelector": in_this_cluster, "topologyKey": "kubernetes.io/hostname"}
                        ],
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "weight": 50,
                                "podAffinityTerm": {
                                    "labelSelector": in_this_cluster,
                                    "topologyKey": "topology.kubernetes.io/zone",
                                },
                            }
                        ],
                    }
                },
                "tolerations": [
                    {"key": "storage", "operator": "Equal", "value": "etcd", "effect": "NoSchedule"}
                ],
                "resources": {
                    "requests": {"cpu": "500m", "memory": "512Mi"},
                    "limits": {"memory": "2Gi"},
                },
                "etcdEnv": [
                    {"name": "ETCD_AUTO_COMPACTION_MODE", "value": "periodic"},
                    {"name": "ETCD_AUTO_COMPACTION_RETENTION", "value": "8h"},
                ],
                "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "fsGroup": 1000},
                "persistentVolumeClaimSpec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "fast",
                    "resources": {"requests": {"storage": "8Gi"}},
                },
            },
        },
    }


def review() -> bytes:
    """The body of a request that asks whether the cluster may be created."""
    kind = {"group": GROUP, "version": "v1beta2", "kind": "EtcdCluster"}
    resource = {"group": GROUP, "version": "v1beta2", "resource": "etcdclusters"}
    obj = cluster()
    return msgspec.json.encode(
        {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": UID,
                "kind": kind,
                "resource": resource,
                "requestKind": kind,
                "requestResource": resource,
                "name": obj["metadata"]["name"],
                "namespace": obj["metadata"]["namespace"],
                "operation": "CREATE",
                "userInfo": {
                    "username": "system:serviceaccount:flux-system:kustomize-controller",
                    "uid": "f1c5e8d6-5f0c-4a3c-9f53-6b7de7a4f3a1",
                    "groups": ["system:serviceaccounts", "system:authenticated"],
                },
                "object": obj,
                "oldObject": None,
                "dryRun": False,
                "options": {
                    "kind": "CreateOptions",
                    "apiVersion": "meta.k8s.io/v1",
                    "fieldManager": "kubectl",
                },
            },
        }
    )
