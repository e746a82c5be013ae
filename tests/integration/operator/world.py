"""A namespace of a real API server with a model kubelet in it, and what tests ask of it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from app.api.conditions import is_true
from app.api.status import ClusterStatus
from app.etcd.fake import FakeDialer, SimulatedCluster
from app.kube.api import Api
from app.kube.client import connect
from app.kube.errors import NotFound
from app.kube.informer import Informer
from app.kube.objects import CustomObject, Object, Pod, Service
from app.kube.resources import LEASES, PODS, SERVICES, Resource
from app.observe.caches import ETCD_CLUSTERS
from app.ops.metrics import Metrics
from tests.integration.operator.beside import beside
from tests.integration.operator.kubelet import ModelKubelet

LEASE = "etcd-operator.database.coreos.com"
PATIENCE_SECONDS = 30.0

T = TypeVar("T", bound=Object)


@dataclass(slots=True)
class Place:
    """A namespace of an API server, and the EtcdClusters in it."""

    api: Api
    namespace: str
    kubeconfig: Path
    clusters: Informer[CustomObject]

    async def create(self, name: str, **spec: Any) -> CustomObject:
        """Create an EtcdCluster."""
        body = {"metadata": {"name": name}, "spec": {"size": 3, "version": "3.6.16", **spec}}
        return await self.api.create(ETCD_CLUSTERS, body, namespace=self.namespace)

    async def until(self, name: str, condition: Callable[[ClusterStatus], bool]) -> ClusterStatus:
        """Wait until the status of a cluster satisfies a condition, and return it."""
        key = f"{self.namespace}/{name}"
        seen = asyncio.Event()

        def look(_old: CustomObject | None, new: CustomObject | None) -> None:
            if new is not None and new.metadata.key == key and condition(status_of(new)):
                seen.set()

        self.clusters.subscribe(look)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await seen.wait()
        found = self.clusters.store.get(key)
        assert found is not None
        return status_of(found)

    async def available(self, name: str) -> ClusterStatus:
        """Wait until a cluster is available."""
        return await self.until(name, lambda status: is_true(status.conditions, "Available"))

    async def children(self, name: str) -> tuple[list[Pod], list[Service]]:
        """The Pods and Services of a cluster, read live."""
        labels = f"app=etcd,etcd_cluster={name}"

        async def read(resource: Resource[T]) -> list[T]:
            return await self.api.list(resource, self.namespace, label_selector=labels)

        return await read(PODS), await read(SERVICES)

    async def expire_lease(self) -> None:
        """Let the Lease of an operator that was killed run out."""
        with suppress(NotFound):
            await self.api.delete(LEASES, self.namespace, LEASE)


@dataclass(slots=True)
class World(Place):
    """What is there besides the operator, with models of etcd for members."""

    model: SimulatedCluster
    dialer: FakeDialer
    kubelet: ModelKubelet

    async def delete(self, name: str) -> None:
        """Delete a cluster and its Pods; the garbage collector takes half a minute to learn of a new CRD."""
        await self.api.delete(ETCD_CLUSTERS, self.namespace, name)
        async with asyncio.timeout(PATIENCE_SECONDS):
            for pod in (await self.children(name))[0]:
                with suppress(NotFound):  # the garbage collector was faster
                    await self.api.delete(PODS, self.namespace, pod.metadata.name)
                await self.kubelet.pods.saw_gone(pod.metadata.key, pod.metadata.uid)


def status_of(obj: CustomObject) -> ClusterStatus:
    """The status as the operator's own model reads it."""
    return ClusterStatus.model_validate(obj.status)


@asynccontextmanager
async def world(namespace: str, kubeconfig: Path) -> AsyncIterator[World]:
    """Make the world for the length of the block."""
    metrics = Metrics()
    transport = await connect(str(kubeconfig), metrics=metrics)
    api = Api(transport)
    model = SimulatedCluster(asyncio.get_running_loop().time)
    dialer = FakeDialer(model)
    clusters = Informer(api, ETCD_CLUSTERS, namespace=namespace, metrics=metrics)
    kubelet = ModelKubelet(api, namespace, model, dialer)
    try:
        async with beside(clusters.run(), kubelet.run()):
            await clusters.synced.wait()
            yield World(api, namespace, kubeconfig, clusters, model, dialer, kubelet)
    finally:
        await transport.close()
