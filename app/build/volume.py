"""The claim of a member's data: one each, under the member's name."""

from app.api.base import JsonObject
from app.build.common import CLUSTER_UID, MEMBER_LABEL, owner, selector
from app.plan.observed import ClusterRef


def claim(cluster: ClusterRef, *, member: str, spec: JsonObject, retain: bool = False) -> JsonObject:
    """Build a PersistentVolumeClaim from the user's claim spec.

    The access mode defaults to ReadWriteOncePod: two processes on one data folder is what it prevents. With ``retain`` the
    claim outlives the custom resource.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": member,
            "namespace": cluster.namespace,
            "labels": {**selector(cluster.name), MEMBER_LABEL: member},
            **({"annotations": {CLUSTER_UID: cluster.uid}} if retain else {"ownerReferences": [owner(cluster)]}),
        },
        "spec": {"accessModes": ["ReadWriteOncePod"], **spec},
    }


def growth(storage: str) -> JsonObject:
    """The merge patch of a claim's spec by which it asks for more storage."""
    return {"resources": {"requests": {"storage": storage}}}


def retention(cluster: ClusterRef, *, retain: bool) -> JsonObject:
    """The merge patch of the metadata by which a claim outlives the custom resource, or goes with it.

    A claim that outlives it has no owner and says whose it is; to a cluster made anew, whose uid is another,
    it is the data of somebody else.
    """
    if retain:
        return {"ownerReferences": None, "annotations": {CLUSTER_UID: cluster.uid}}
    return {"ownerReferences": [owner(cluster)], "annotations": {CLUSTER_UID: None}}
