"""What stands in the way of a new cluster, listed live: the caches may lag behind a deletion."""

from dataclasses import dataclass, field
from typing import Any

from app.api import names
from app.api.cluster import ClusterSpec
from app.build.common import selector
from app.kube.api import Api
from app.kube.errors import NotFound
from app.kube.objects import Object, PersistentVolumeClaim
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS, SERVICES, Resource
from app.observe.facts import volume_facts
from app.observe.services import is_ours
from app.plan.observed import ClusterRef, VolumeFacts


@dataclass(slots=True)
class Obstacles:
    """Objects as ``kind/name``, and what the claims among the existing data say; as `Observed` has them.

    ``own`` are this cluster's.
    """

    conflicts: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    fading: list[str] = field(default_factory=list)
    former: dict[str, VolumeFacts] = field(default_factory=dict)
    own: list[str] = field(default_factory=list)


async def find_obstacles(api: Api, cluster: ClusterRef, spec: ClusterSpec) -> Obstacles:
    """List them. Raises `KubeError` where that fails."""
    found = Obstacles()
    labels = ",".join(f"{key}={value}" for key, value in selector(cluster.name).items())
    resources: tuple[Resource[Any], ...] = (PODS, PERSISTENT_VOLUME_CLAIMS)
    for resource in resources:
        for obj in await api.list(resource, cluster.namespace, label_selector=labels):
            name = f"{resource.kind}/{obj.metadata.name}"
            ends = obj.metadata.deletion_timestamp is not None
            if ends or (obj.metadata.controller is not None and not is_ours(obj, cluster)):
                found.fading.append(name)
            elif not is_ours(obj, cluster):
                found.existing.append(name)
                if isinstance(obj, PersistentVolumeClaim):
                    found.former[obj.metadata.name] = volume_facts(obj)
            else:
                found.own.append(name)
    for service_name in (names.peer_service(cluster.name), spec.client_service(cluster.name)):
        try:
            service = await api.get(SERVICES, cluster.namespace, service_name)
        except NotFound:
            continue
        if is_ours(service, cluster):
            continue
        target = found.fading if _is_cluster_child(service) else found.conflicts
        target.append(f"Service/{service_name}")
    return found


def _is_cluster_child(obj: Object) -> bool:
    controller = obj.metadata.controller
    return controller is not None and controller.kind == "EtcdCluster"
