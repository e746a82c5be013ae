"""The claim of a member's data: one each, under the member's name."""

from app.api.base import JsonObject
from app.build.common import MEMBER_LABEL, owner, selector
from app.plan.observed import ClusterRef


def claim(cluster: ClusterRef, *, member: str, spec: JsonObject) -> JsonObject:
    """Build a PersistentVolumeClaim from the user's claim spec.

    The access mode defaults to ReadWriteOncePod: two processes on one data folder is what it prevents.
    """
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": member,
            "namespace": cluster.namespace,
            "labels": {**selector(cluster.name), MEMBER_LABEL: member},
            "ownerReferences": [owner(cluster)],
        },
        "spec": {"accessModes": ["ReadWriteOncePod"], **spec},
    }
