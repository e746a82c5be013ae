"""The informers that the reconcile reads from, and how their objects are found by cluster."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.api.base import GROUP, VERSION
from app.build.common import APP, CLUSTER_LABEL, HELPER_LABEL
from app.kube.api import Api
from app.kube.informer import Informer
from app.kube.objects import (
    CustomObject,
    Object,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    Service,
)
from app.kube.resources import (
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    SERVICES,
    Resource,
)
from app.ops.metrics import Metrics

ETCD_CLUSTERS = Resource(GROUP, VERSION, "etcdclusters", "EtcdCluster", CustomObject)
BY_CLUSTER = "cluster"
BY_NAMESPACE = "namespace"


def cluster_of(obj: Object) -> str:
    """The key of the cluster that an object's labels name; empty for none."""
    name = obj.metadata.label(CLUSTER_LABEL) or obj.metadata.label(HELPER_LABEL)
    return f"{obj.metadata.namespace}/{name}" if name else ""


def _index(obj: Object) -> Iterable[str]:
    key = cluster_of(obj)
    return (key,) if key else ()


def owner_of(obj: Object) -> str:
    """The key of the cluster that controls an object; empty for none."""
    controller = obj.metadata.controller
    if controller is None or controller.kind != ETCD_CLUSTERS.kind:
        return ""
    return f"{obj.metadata.namespace}/{controller.name}"


def _owner_index(obj: Object) -> Iterable[str]:
    key = owner_of(obj)
    return (key,) if key else ()


def _others_index(obj: Object) -> Iterable[str]:
    return () if owner_of(obj) else (obj.metadata.namespace,)


@dataclass(frozen=True, slots=True)
class Caches:
    """One informer for each kind.

    The custom resources, the children under the old operator's labels, and all PodDisruptionBudgets: one of
    anybody's may select a member. They are found by the cluster that controls them, all others by namespace.
    """

    clusters: Informer[CustomObject]
    pods: Informer[Pod]
    volumes: Informer[PersistentVolumeClaim]
    services: Informer[Service]
    budgets: Informer[PodDisruptionBudget]

    @property
    def all(self) -> tuple[Informer[Any], ...]:
        """Every informer."""
        return (self.clusters, self.pods, self.volumes, self.services, self.budgets)


def make_caches(api: Api, *, namespace: str | None, metrics: Metrics) -> Caches:
    """Make the informers for one namespace, or for all."""
    children: dict[str, Any] = {
        "namespace": namespace,
        "label_selector": ",".join(f"{label}={value}" for label, value in APP.items()),
        "indexers": {BY_CLUSTER: _index},
        "metrics": metrics,
    }
    return Caches(
        clusters=Informer(
            api,
            ETCD_CLUSTERS,
            namespace=namespace,
            indexers={BY_NAMESPACE: lambda obj: (obj.metadata.namespace,)},
            metrics=metrics,
        ),
        pods=Informer(api, PODS, **children),
        volumes=Informer(api, PERSISTENT_VOLUME_CLAIMS, **children),
        services=Informer(api, SERVICES, **children),
        budgets=Informer(
            api,
            POD_DISRUPTION_BUDGETS,
            namespace=namespace,
            indexers={BY_CLUSTER: _owner_index, BY_NAMESPACE: _others_index},
            metrics=metrics,
        ),
    )
