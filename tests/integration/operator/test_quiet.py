"""A settled system is silent, and one sick cluster is nobody else's business."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from app.api.conditions import is_true
from app.api.status import ClusterStatus
from app.etcd.client import Client
from app.etcd.endpoint import Endpoint
from app.etcd.fake import FakeDialer, Fault
from app.etcd.flags import METRICS_PORT
from app.etcd.model import Status
from app.kube.transport import Request, Stage
from app.observe.caches import ETCD_CLUSTERS
from app.observe.pulse import LOOK_SECONDS
from app.plan.cluster import SETTLED
from tests.integration.operator.running import config, operator, running
from tests.integration.operator.world import World
from tests.unit.kube.fakes import until

pytestmark = pytest.mark.integration

TEN_MINUTES = 600


class Restless:
    """Members whose database and lag are never twice the same, though they are well."""

    def __init__(self, dialer: FakeDialer) -> None:
        self._dialer = dialer
        self._sizes = itertools.cycle([20480, 21000, 22000, 19000, 20000])
        self.asked = 0

    @asynccontextmanager
    async def dial(self, endpoint: Endpoint) -> AsyncIterator[Client]:
        async with self._dialer.dial(endpoint) as client:
            honest = client.status

            async def status(*, deadline: float) -> Status:
                self.asked += 1
                said = await honest(deadline=deadline)
                size = next(self._sizes)
                return replace(said, db_size=size, db_size_in_use=size, raft_index=said.raft_index + size % 7)

            client.status = status  # type: ignore[method-assign]  # the one answer that is to vary
            yield client


class Counting:
    """Counts the calls that a settled operator must not send."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def __call__(self, stage: Stage, request: Request) -> None:
        if stage == "before" and "/leases" not in request.path and "watch" not in request.query:
            self.calls.append(request.doing)


@asynccontextmanager
async def metrics_ports(addresses: list[str]) -> AsyncIterator[None]:
    """Members' metrics ports, all of which say yes."""

    async def yes(_request: web.Request) -> web.Response:
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_get("/readyz", yes)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        for address in addresses:
            await web.TCPSite(runner, address, METRICS_PORT).start()
        yield
    finally:
        await runner.cleanup()


def has(kind: str) -> Callable[[ClusterStatus], bool]:
    return lambda status: is_true(status.conditions, kind)


async def test_P22_D10_a_settled_cluster_causes_no_writes_and_no_lists_for_ten_minutes(here: World) -> None:
    await here.create("c")
    dialer, counting = Restless(here.dialer), Counting()
    async with running(config(here.namespace, here.kubeconfig), dialer, counting) as (made, _):
        await here.until("c", has("Ready"))
        controller, key = made._controller, f"{here.namespace}/c"
        pods, _ = await here.children("c")
        async with metrics_ports([pod.status.pod_ip for pod in pods]):
            now = 0.0
            controller._hands.pulse._clock = lambda: now
            await controller.reconcile(key)
            counting.calls.clear()
            asked = dialer.asked
            for _ in range(int(TEN_MINUTES / SETTLED)):
                now += SETTLED
                assert await controller.reconcile(key) == SETTLED
            # An event that comes twice, and one from before, change nothing either.
            for pod in pods:
                controller._child_changed(pod, pod)
                controller._child_changed(None, pod)
            await controller.reconcile(key)
        assert counting.calls == []
        # etcd itself is asked once in a while only: the rest were pulses.
        assert dialer.asked - asked <= (TEN_MINUTES / LOOK_SECONDS + 1) * len(pods)


async def test_an_edit_costs_one_look_and_not_another_for_its_own_write(here: World) -> None:
    await here.create("c")
    dialer = Restless(here.dialer)
    async with running(config(here.namespace, here.kubeconfig), dialer) as (made, _):
        key = f"{here.namespace}/c"
        await here.until("c", has("Ready"))
        pods, _ = await here.children("c")
        async with metrics_ports([pod.status.pod_ip for pod in pods]):
            asked = -1
            while asked < dialer.asked:
                asked = dialer.asked
                await made._controller.reconcile(key)
            await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", {"spec": {"paused": True}})
            paused = await here.until("c", lambda status: status.control_paused)
            assert paused.observed_generation == 2
            written = here.clusters.store.get(key)
            assert written is not None
            settled = made._controller._hands.pulse._settled
            await until(lambda: settled[key].fingerprint.version == written.metadata.resource_version)
            await made._controller.reconcile(key)
            assert dialer.asked - asked == len(pods)


async def test_P8_a_cluster_whose_endpoints_hang_delays_no_other(here: World) -> None:
    others = [f"c{number}" for number in range(50)]
    for name in ["stuck", *others]:
        await here.create(name, size=1)
    async with operator(config(here.namespace, here.kubeconfig), here.dialer):
        for name in ["stuck", *others]:
            await here.until(name, has("Ready"))
        here.dialer.faults = lambda member, _call: Fault.LOST_BEFORE if member.startswith("stuck-") else None
        hung = asyncio.create_task(
            here.until("stuck", lambda status: not is_true(status.conditions, "Available"))
        )

        async def paused(name: str) -> Any:
            await here.api.patch(ETCD_CLUSTERS, here.namespace, name, {"spec": {"paused": True}})
            return await here.until(name, lambda status: status.control_paused)

        await asyncio.gather(*map(paused, others))
        await hung
