"""Which Services of a cluster there are, and whose."""

from app.api import names
from app.api.cluster import ClusterSpec
from app.build.common import CLUSTER_UID
from app.build.service import service
from app.kube.objects import Object, Service
from app.kube.resources import SERVICES
from app.observe.caches import BY_CLUSTER, Caches, cluster_of
from app.observe.facts import service_is
from app.plan.observed import ClusterRef, ServiceFacts


def is_ours(obj: Object, cluster: ClusterRef) -> bool:
    """Whether an object is this cluster's: by its controller, never by its name or labels."""
    controller = obj.metadata.controller
    if controller is None:  # a claim that is to outlive the custom resource
        return obj.metadata.annotation(CLUSTER_UID) == cluster.uid
    return controller.uid == cluster.uid


def own_services(caches: Caches, cluster: ClusterRef, spec: ClusterSpec) -> dict[str, bool]:
    """The Services of ours that exist, and whether each is as it would be written."""
    return {
        name: service_is(live, service(cluster, spec.service, name=name, client=client))
        for name, client in _wanted(cluster, spec).items()
        if (live := _live(caches, cluster, name)) is not None and is_ours(live, cluster)
    }


def client_service(caches: Caches, cluster: ClusterRef, spec: ClusterSpec) -> ServiceFacts | None:
    """Ours for clients, one that is being deleted too."""
    name = spec.client_service(cluster.name)
    live = caches.services.store.get(f"{cluster.namespace}/{name}")
    if live is None or not is_ours(live, cluster):
        return None
    return ServiceFacts(name, live.metadata.uid, live.metadata.resource_version)


def ownerless_services(
    caches: Caches, cluster: ClusterRef, spec: ClusterSpec
) -> frozenset[tuple[str, str, str]]:
    """Services under the names we need, with our labels, that nobody controls."""
    return frozenset(
        (SERVICES.kind, name, live.metadata.uid)
        for name in _wanted(cluster, spec)
        if (live := _live(caches, cluster, name)) is not None
        and cluster_of(live) == cluster.key
        and live.metadata.controller is None
    )


def former_services(caches: Caches, cluster: ClusterRef, spec: ClusterSpec) -> tuple[ServiceFacts, ...]:
    """Those of ours under another name than is wanted now."""
    return tuple(
        ServiceFacts(live.metadata.name, live.metadata.uid, live.metadata.resource_version)
        for live in caches.services.store.by_index(BY_CLUSTER, cluster.key)
        if is_ours(live, cluster)
        and live.metadata.deletion_timestamp is None
        and live.metadata.name not in _wanted(cluster, spec)
    )


def _wanted(cluster: ClusterRef, spec: ClusterSpec) -> dict[str, bool]:
    """The names of both, and which is the clients'."""
    return {names.peer_service(cluster.name): False, spec.client_service(cluster.name): True}


def _live(caches: Caches, cluster: ClusterRef, name: str) -> Service | None:
    found = caches.services.store.get(f"{cluster.namespace}/{name}")
    return found if found is not None and found.metadata.deletion_timestamp is None else None
