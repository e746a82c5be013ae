"""The Service for clients follows its part of the spec, on a real API server."""

import asyncio
from collections.abc import Callable

import pytest

from app.kube.informer import Informer
from app.kube.objects import Service
from app.kube.resources import SERVICES
from app.observe.caches import ETCD_CLUSTERS
from app.ops.metrics import Metrics
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import settled
from tests.integration.operator.world import PATIENCE_SECONDS, World

pytestmark = pytest.mark.integration


async def until(informer: Informer[Service], condition: Callable[[dict[str, Service]], bool]) -> None:
    met = asyncio.Event()

    def look(_old: Service | None, _new: Service | None) -> None:
        if condition({one.metadata.name: one for one in informer.store.values()}):
            met.set()

    informer.subscribe(look)
    look(None, None)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await met.wait()


async def test_the_service_for_clients_follows_the_spec_and_moves_to_another_name(here: World) -> None:
    async def write(service: dict[str, object]) -> None:
        await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", {"spec": {"service": service}})

    services = Informer(here.api, SERVICES, namespace=here.namespace, metrics=Metrics())
    watch = asyncio.create_task(services.run())
    try:
        await here.create("c", size=1)
        async with operator(config(here.namespace, here.kubeconfig), here.dialer):
            await here.until("c", settled(1))
            await write({"type": "NodePort", "annotations": {"lb": "internal"}})
            await until(services, lambda found: found["c-client"].spec["type"] == "NodePort")
            await until(services, lambda found: found["c-client"].metadata.annotation("lb") == "internal")
            await write({"type": None, "annotations": None})
            await until(services, lambda found: found["c-client"].spec["type"] == "ClusterIP")
            await until(services, lambda found: not found["c-client"].metadata.annotation("lb"))
            await write({"name": "door"})
            await until(services, lambda found: found.keys() == {"c", "door"})
            status = await here.until("c", lambda status: status.service_name == "door")
            assert settled(1)(status)
    finally:
        watch.cancel()
        await asyncio.wait([watch])
