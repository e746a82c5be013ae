"""Election in virtual time: one leader at a time, whatever happens to the network."""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest

from app.kube.api import Api
from app.kube.errors import KubeError, NotLeading
from app.kube.lease import Elector, Timing
from app.kube.resources import CONFIG_MAPS
from app.ops.metrics import Metrics
from tests.unit.kube.fakes import FakeServer, Link, until

# Finer than the clock of asyncio, below which a random wait would never be over.
pytestmark = pytest.mark.looptime(resolution=1e-9)

LEASE = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/operator"
WORK = "/api/v1/namespaces/ns/configmaps/work"


class Replica:
    """A process that writes its name every tenth of a second while it leads."""

    def __init__(self, server: FakeServer, name: str) -> None:
        self.name = name
        self.link = Link(server)
        self.metrics = Metrics()
        api = Api(self.link)
        self.elector = Elector(
            api,
            namespace="ns",
            name="operator",
            identity=name,
            clock=asyncio.get_running_loop().time,
            metrics=self.metrics,
        )
        self.fenced = api.fenced(self.elector.remaining)
        self.working = False
        self.ended_at: list[float] = []
        self.stop_takes = 0.0
        self.task = asyncio.create_task(self.elector.run(self.lead))

    async def lead(self) -> None:
        self.working = True
        try:
            while True:
                with suppress(KubeError):
                    await self.write()
                await asyncio.sleep(0.1)
        finally:
            await asyncio.sleep(self.stop_takes)
            self.working = False
            self.ended_at.append(asyncio.get_running_loop().time())

    async def write(self) -> None:
        await self.fenced.patch(CONFIG_MAPS, "ns", "work", {"data": {"by": self.name}})

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])

    async def kill(self) -> None:
        """End as by SIGKILL: nothing more reaches the server."""
        self.link.cut.set()
        await self.stop()


class World:
    """A server, replicas, and the record of who wrote when."""

    def __init__(self, number: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.server = FakeServer()
        self.server.put(WORK, {"metadata": {"name": "work", "namespace": "ns"}})
        self.replicas = [Replica(self.server, f"replica-{index}") for index in range(number)]

    def leader(self) -> Replica | None:
        return next((one for one in self.replicas if one.elector.leading and one.working), None)

    async def elected(self, *, other_than: Replica | None = None) -> Replica:
        found: Replica | None = None
        while found is None or found is other_than:
            found = self.leader()
            await asyncio.sleep(0.01)
        return found

    def writers(self) -> list[str]:
        """Who wrote, in the server's order, repeats left out."""
        names: list[str] = []
        for _, _, entry in self.server.history:
            name = entry["object"].get("data", {}).get("by")
            if name and names[-1:] != [name]:
                names.append(name)
        return names

    def reigns(self) -> list[str]:
        """Who held the Lease, in the server's order, repeats left out."""
        names: list[str] = []
        for _, _, entry in self.server.history:
            if entry["path"] == LEASE:
                name = entry["object"]["spec"].get("holderIdentity")
                if name and names[-1:] != [name]:
                    names.append(name)
        return names

    def check_writes(self) -> None:
        """Assert that nobody wrote once somebody else had written as his successor."""
        holder = ""
        for _, _, entry in self.server.history:
            if entry["path"] == LEASE:
                holder = entry["object"]["spec"].get("holderIdentity") or ""
            name = entry["object"].get("data", {}).get("by")
            if name:
                assert name == holder


@asynccontextmanager
async def world(number: int) -> AsyncIterator[World]:
    made = World(number)
    try:
        yield made
    finally:
        for replica in made.replicas:
            await replica.stop()
        made.check_writes()


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_I5_one_leads_and_the_others_wait(number: int) -> None:
    async with world(number) as made:
        first = await made.elected()
        await asyncio.sleep(60)
        assert made.leader() is first
        assert made.reigns() == [first.name]
        gauges = [
            replica.metrics.registry.get_sample_value("leader_election_master_status", {"name": "operator"})
            for replica in made.replicas
        ]
        assert gauges == [1.0 if replica is first else 0.0 for replica in made.replicas]


@pytest.mark.parametrize("number", [2, 3])
async def test_I5_killed_leader_is_followed_within_17_seconds(number: int) -> None:
    async with world(number) as made:
        first = await made.elected()
        await asyncio.sleep(7.3)
        began = made.loop.time()
        await first.kill()
        await made.elected(other_than=first)
        assert 12 <= made.loop.time() - began <= 17


async def test_I4_clean_shutdown_hands_over_at_once_and_after_the_work_has_stopped() -> None:
    async with world(2) as made:
        first = await made.elected()
        first.stop_takes = 3.0
        began = made.loop.time()
        stopping = asyncio.create_task(first.stop())
        await made.elected(other_than=first)
        assert 3 <= made.loop.time() - began <= 4
        await stopping
        assert not first.working


async def test_cut_off_leader_stops_before_the_next_one_starts() -> None:
    async with world(2) as made:
        first = await made.elected()
        await asyncio.sleep(5)
        first.link.cut.set()
        began = made.loop.time()
        await until(lambda: first.ended_at)
        assert made.loop.time() - began <= 10.1
        second = await made.elected(other_than=first)
        assert 12 <= made.loop.time() - began <= 17
        first.link.cut.clear()
        await asyncio.sleep(60)
        assert made.leader() is second
        assert made.writers() == [first.name, second.name]


async def test_work_that_will_not_stop_is_fenced_and_delays_the_next_campaign() -> None:
    async with world(1) as made:
        first = await made.elected()
        first.stop_takes = 30.0
        first.link.cut.set()
        await asyncio.sleep(15)
        first.link.cut.clear()
        assert first.working
        assert not first.elector.leading
        with pytest.raises(NotLeading):
            await first.write()
        await until(lambda: first.ended_at)
        await made.elected()
        # It campaigned again once its work had ended, and not before.
        acquired = made.server.objects[LEASE]["spec"]["leaseTransitions"]
        assert acquired == 1


async def test_deadline_of_a_write_is_below_what_remains_of_the_lease() -> None:
    async with world(1) as made:
        first = await made.elected()
        first.link.cut.set()
        ends = first.elector.remaining() + made.loop.time()
        await asyncio.sleep(8)
        with pytest.raises(KubeError):
            await first.write()
        assert made.loop.time() <= ends


async def test_a_hanging_renewal_leaves_time_for_another() -> None:
    async with world(2) as made:
        first = await made.elected()
        await asyncio.sleep(3)
        first.link.cut.set()
        await asyncio.sleep(5.5)
        first.link.cut.clear()
        await asyncio.sleep(60)
        assert made.leader() is first
        assert made.reigns() == [first.name]


async def test_a_strangers_edit_of_the_lease_costs_no_leadership() -> None:
    async with world(2) as made:
        first = await made.elected()
        for _ in range(10):
            lease = made.server.objects[LEASE]
            made.server.put(LEASE, {**lease, "metadata": {**lease["metadata"], "labels": {"a": "b"}}})
            await asyncio.sleep(1.7)
        assert made.leader() is first
        assert made.reigns() == [first.name]
        assert made.server.objects[LEASE]["metadata"]["labels"] == {"a": "b"}


async def test_a_deleted_lease_is_written_again_by_its_holder() -> None:
    async with world(3) as made:
        first = await made.elected()
        made.server.remove(LEASE)
        await asyncio.sleep(0.1)
        assert made.server.objects[LEASE]["spec"]["holderIdentity"] == first.name
        await asyncio.sleep(30)
        assert made.leader() is first
        assert made.reigns() == [first.name]


async def test_a_usurped_lease_ends_the_reign_at_once() -> None:
    async with world(1) as made:
        first = await made.elected()
        lease = made.server.objects[LEASE]
        made.server.put(LEASE, {**lease, "spec": {**lease["spec"], "holderIdentity": "stranger"}})
        began = made.loop.time()
        await until(lambda: first.ended_at)
        assert first.ended_at[0] - began < 0.1
        assert first.elector.remaining() == 0
        assert first.elector.holder == "stranger"
        # A usurper waits for nobody, so what was under way then may still have arrived.
        made.server.history.clear()


async def test_P21_lease_is_released_when_the_work_dies() -> None:
    server = FakeServer()

    async def die() -> None:
        await asyncio.sleep(1)
        raise ValueError("died")

    elector = Elector(
        Api(server),
        namespace="ns",
        name="operator",
        identity="me",
        clock=asyncio.get_running_loop().time,
        metrics=Metrics(),
    )
    with pytest.raises(ValueError, match="died"):
        await elector.run(die)
    assert server.objects[LEASE]["spec"].get("holderIdentity") is None


@pytest.mark.parametrize("seed", range(8))
async def test_never_two_leaders_in_a_random_network(seed: int) -> None:
    chance = random.Random(seed)
    async with world(3) as made:
        await made.elected()
        await asyncio.sleep(1)
        for _ in range(30):
            replica = chance.choice(made.replicas)
            if chance.random() < 0.6:
                replica.link.cut.set()
            else:
                replica.link.cut.clear()
            replica.stop_takes = chance.choice([0, 0, 1, 6])
            if chance.random() < 0.1 and LEASE in made.server.objects:
                made.server.remove(LEASE)
            await asyncio.sleep(chance.uniform(0, 12))
            made.check_writes()
        for replica in made.replicas:
            replica.link.cut.clear()
            replica.stop_takes = 0
        await made.elected()


@pytest.fixture
def chatham(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(os.environ, "TZ", "Pacific/Chatham")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("chatham")
async def test_times_are_utc_in_any_zone() -> None:
    async with world(1) as made:
        await made.elected()
        text = made.server.objects[LEASE]["spec"]["renewTime"]
        told = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        assert abs((datetime.now(UTC) - told).total_seconds()) < 5


def test_timing_that_cannot_be_safe_is_refused() -> None:
    with pytest.raises(ValueError, match="must exceed"):
        Timing(lease_duration=10, renew_deadline=10, retry_period=2)
