"""The two Services of a cluster, under the names that the old operator gave them."""

from app.api.base import JsonObject
from app.api.cluster import ServicePolicy
from app.build.common import owner, selector
from app.plan.observed import ClusterRef

CLIENT_PORT = 2379
PEER_PORT = 2380


def service(cluster: ClusterRef, policy: ServicePolicy, *, name: str, client: bool) -> JsonObject:
    """Build the Service that clients use, or the headless one that gives members their names.

    The headless one publishes members that are not ready, since they find each other through it before any of
    them can be ready; the client one sends nobody to a member that does not serve, and is as the user's
    ``policy`` wants it.
    """
    ports = [{"name": "client", "port": CLIENT_PORT, "targetPort": CLIENT_PORT, "protocol": "TCP"}]
    spec: JsonObject = {"selector": selector(cluster.name), "ports": ports}
    metadata: JsonObject = {
        "name": name,
        "namespace": cluster.namespace,
        "labels": selector(cluster.name),
        "ownerReferences": [owner(cluster)],
    }
    if client:
        spec["type"] = policy.type or "ClusterIP"
        spec["selector"] = {**policy.selector, **selector(cluster.name)}
        metadata["labels"] = {**policy.labels, **selector(cluster.name)}
        if policy.annotations:
            metadata["annotations"] = dict(policy.annotations)
    else:
        ports.append({"name": "peer", "port": PEER_PORT, "targetPort": PEER_PORT, "protocol": "TCP"})
        spec["clusterIP"] = "None"
        spec["publishNotReadyAddresses"] = True
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": spec,
    }
