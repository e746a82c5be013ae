"""Shrinking with a client at work, by real etcd."""

import asyncio
import itertools
import time

import pytest

from app.etcd.errors import EtcdError
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.etcd.local import DEADLINE, eventually
from tests.integration.operator.real import RealPlace
from tests.integration.operator.running import config, operator

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

BOUND_SECONDS = 5.0
"""How long no write may be acknowledged, on a busy machine; what it takes is measured by the benchmarks."""


class Writer:
    """A client that writes one value after the other, each through the first member that takes it."""

    def __init__(self, there: RealPlace, members: list[str]) -> None:
        self._there = there
        self._members = members
        self.acknowledged: list[float] = []

    async def run(self) -> None:
        while True:
            for member in self._members:
                try:
                    async with self._there.client(member) as client:
                        value = str(len(self.acknowledged)).encode()
                        await client.put(b"k", value, deadline=1.0)
                except EtcdError:
                    continue
                self.acknowledged.append(time.monotonic())
                break
            await asyncio.sleep(0)  # to a refusal there may be no await at all

    @property
    def longest_gap(self) -> float:
        times = self.acknowledged
        return max(after - before for before, after in itertools.pairwise(times))


async def leader(there: RealPlace, via: str) -> int:
    return (await there.serving(via)).leader


async def test_C1_the_would_be_victim_leads_and_writes_go_on_from_five_to_three(there: RealPlace) -> None:
    await there.apply("c", version="3.6.16", size=5)
    async with operator(config(there.namespace, there.kubeconfig), there.dialer):
        status = await there.settled("c", 5)
        members = sorted(status.members.ready)
        victim = members[0]  # the first by name, were it a follower
        listed = await there.listed(victim)
        ids = {member.name: member.id for member in listed.members}
        led_by = await leader(there, victim)
        leads = next(name for name in members if ids[name] == led_by)
        if leads != victim:
            cluster_id = listed.header.cluster_id
            async with there.client(leads) as client:
                await client.expect(cluster_id=cluster_id, member_id=ids[leads], deadline=DEADLINE)
                await client.move_leader(ids[victim], deadline=DEADLINE)
        await eventually(lambda: leader(there, victim), lambda found: found == ids[victim])

        writer = Writer(there, members)
        writing = asyncio.create_task(writer.run())
        try:
            await there.api.patch(ETCD_CLUSTERS, there.namespace, "c", {"spec": {"size": 3}})
            await there.settled("c", 3)
        finally:
            writing.cancel()
            await asyncio.wait([writing])
        assert len(writer.acknowledged) > 3
        assert writer.longest_gap < BOUND_SECONDS
        assert await leader(there, victim) == ids[victim]
        last = await there.get(victim, b"k")
    assert last is not None
    assert int(last) >= len(writer.acknowledged) - 1
