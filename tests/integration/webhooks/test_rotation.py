"""Certificates are exchanged, and replicas too, under steady requests: nobody notices."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from app.kube.errors import KubeError
from certs.rotation import Settings
from tests.integration.webhooks.stack import ETCD_CLUSTERS, Stack, etcd_cluster

pytestmark = pytest.mark.integration

SECONDS = Settings(
    ca_lifetime=timedelta(seconds=36), leaf_lifetime=timedelta(seconds=12), soak=timedelta(seconds=3)
)
REQUESTS_PER_SECOND = 50
AT_ONCE = 8
"""How many requests may be under way; a machine that is slower than the pace is not to drown."""


class Traffic:
    """Objects created (not stored: dry run) through the API server and both webhooks, at a steady pace."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.sent = 0
        self.failures: list[str] = []
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        async with asyncio.TaskGroup() as group:
            while True:
                await self._slots.acquire()
                self.sent += 1
                group.create_task(self._one(self.sent, loop.time() - begin))
                await asyncio.sleep(max(begin + self.sent / REQUESTS_PER_SECOND - loop.time(), 0))

    async def _one(self, number: int, at: float) -> None:
        body = etcd_cluster(f"load-{number}", self._stack.namespace)
        try:
            created = await self._stack.api.create(ETCD_CLUSTERS, body, dry_run=True, deadline=30)
            assert created.spec["size"] == 3
        except KubeError as error:
            self.failures.append(f"{at:.1f} s: {error}")
        finally:
            self._slots.release()


@asynccontextmanager
async def traffic(stack: Stack) -> AsyncIterator[Traffic]:
    running = Traffic(stack)
    task = asyncio.create_task(running.run())
    try:
        yield running
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def first_authority_is_gone(stack: Stack, first: bytes) -> set[int]:
    """Wait for the end of a rotation; returns how many CAs the bundles had on the way."""
    sizes = set()
    async with asyncio.timeout(120):
        bundles = {first}
        while any(first in bundle for bundle in bundles):
            bundles = await stack.bundles()
            sizes |= {bundle.count(b"BEGIN") for bundle in bundles}
            await asyncio.sleep(0.2)
    return sizes


@pytest.mark.parametrize("stack", [SECONDS], indirect=True, ids=["seconds"])
async def test_E10_W5_W6_no_request_fails_at_any_step_of_a_rotation(stack: Stack) -> None:
    (first,) = await stack.bundles()
    leaves = {replica.certificates._leaf for replica in stack.replicas}
    async with traffic(stack) as running:
        sizes = await first_authority_is_gone(stack, first)
    assert running.failures == []
    assert sizes == {1, 2}
    assert running.sent > 30 * REQUESTS_PER_SECOND / 2
    assert all(replica.served("/validate") > 100 for replica in stack.replicas)
    assert leaves.isdisjoint({replica.certificates._leaf for replica in stack.replicas})


async def test_no_request_fails_while_replicas_are_replaced(stack: Stack) -> None:
    async with traffic(stack) as running:
        for replica in tuple(stack.replicas):
            await stack.add_replica()
            sent = running.sent
            await stack.remove_replica(replica, drain=2)
            assert running.sent > sent
    assert running.failures == []
