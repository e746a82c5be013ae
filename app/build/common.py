"""What all children of a cluster carry: the old operator's labels, and the owner that they die with."""

from dataclasses import dataclass

from app.api.base import API_VERSION, GROUP, JsonObject
from app.plan.observed import ClusterRef

CLUSTER_LABEL = "etcd_cluster"
MEMBER_LABEL = "etcd_node"
APP = {"app": "etcd"}

CLUSTER_UID = "etcd.database.coreos.com/cluster-uid"
"""Annotation of a claim without an owner: the custom resource whose member's data it holds."""

APPLIED_ANNOTATION = "etcd.database.coreos.com/applied"
"""The digest of what was applied last: it tells of a field that is no longer wanted."""
HELPER_LABEL = f"{GROUP}/helper-of"
"""The cluster of a Pod that is no member. No Service selects it: it lacks the label ``etcd_cluster``."""
TASK_LABEL = f"{GROUP}/task"
TOKEN_LABEL = f"{GROUP}/incident"
QUARANTINE_LABEL = f"{GROUP}/quarantined"


@dataclass(frozen=True, slots=True)
class Platform:
    """What the operator knows of the place it runs in.

    ``run_as_user`` None leaves the choice to the platform.
    """

    run_as_user: int | None = 1000


def selector(cluster: str) -> dict[str, str]:
    """The labels that select the members of a cluster, and nothing else."""
    return {**APP, CLUSTER_LABEL: cluster}


def owner(cluster: ClusterRef) -> JsonObject:
    """The controller reference to the custom resource: Kubernetes deletes the child after it."""
    return {
        "apiVersion": API_VERSION,
        "kind": "EtcdCluster",
        "name": cluster.name,
        "uid": cluster.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
