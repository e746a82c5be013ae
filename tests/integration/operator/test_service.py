"""The Service for clients follows its part of the spec, on a real API server."""

import pytest

from app.kube.resources import SERVICES
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import settled
from tests.integration.operator.watching import watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration


async def test_the_service_for_clients_follows_the_spec_and_moves_to_another_name(here: World) -> None:
    async def write(service: dict[str, object]) -> None:
        await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", {"spec": {"service": service}})

    await here.create("c", size=1)
    async with (
        watching(here, SERVICES) as services,
        operator(config(here.namespace, here.kubeconfig), here.dialer),
    ):
        await here.until("c", settled(1))
        await write({"type": "NodePort", "annotations": {"lb": "internal"}})
        await services.until(lambda found: found["c-client"].spec["type"] == "NodePort")
        await services.until(lambda found: found["c-client"].metadata.annotation("lb") == "internal")
        await write({"type": None, "annotations": None})
        await services.until(lambda found: found["c-client"].spec["type"] == "ClusterIP")
        await services.until(lambda found: not found["c-client"].metadata.annotation("lb"))
        await write({"name": "door"})
        await services.until(lambda found: found.keys() == {"c", "door"})
        status = await here.until("c", lambda status: status.service_name == "door")
        assert settled(1)(status)
