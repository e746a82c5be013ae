"""The PodDisruptionBudget of a cluster: how many members an eviction must leave.

``minAvailable`` is an integer, not ``maxUnavailable`` nor a share, since the controller would count those
against the Pods that exist, and a cluster of which two members are gone would be drained further. A member
that is not ready may be evicted as long as enough others are.
"""

from app.api.base import JsonObject
from app.build.common import owner, selector
from app.plan.observed import ClusterRef


def pdb(cluster: ClusterRef, *, min_available: int) -> JsonObject:
    """Build the PodDisruptionBudget."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": cluster.name,
            "namespace": cluster.namespace,
            "labels": selector(cluster.name),
            "ownerReferences": [owner(cluster)],
        },
        "spec": {
            "minAvailable": min_available,
            "selector": {"matchLabels": selector(cluster.name)},
            "unhealthyPodEvictionPolicy": "IfHealthyBudget",
        },
    }
