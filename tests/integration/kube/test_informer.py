"""The informer on a real API server, with the network's and the server's faults in between."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from app.kube.api import Api
from app.kube.errors import Expired, KubeError
from app.kube.informer import Informer
from app.kube.objects import CustomObject
from app.kube.resources import Resource
from app.kube.watching import Source, Tuning
from app.ops.metrics import Metrics
from tests.integration.kube.faultproxy import FaultProxy
from tests.unit.kube.fakes import until

pytestmark = pytest.mark.integration

FAST = Tuning(silence=1.5, backoff_base=0.05, backoff_cap=0.5, page_size=3)


class Follower:
    """An informer, and the objects as a subscriber knows them who believes every word."""

    def __init__(self, api: Api, things: Resource[CustomObject], namespace: str, tuning: Tuning) -> None:
        self.metrics = Metrics()
        self.informer = Informer(api, things, namespace=namespace, tuning=tuning, metrics=self.metrics)
        self.known: dict[str, str] = {}
        self.told = 0
        self.informer.subscribe(self.tell)

    def tell(self, old: CustomObject | None, new: CustomObject | None) -> None:
        self.told += 1
        obj = new or old
        assert obj is not None
        key = obj.metadata.key
        # What it is told fits what it knows: nothing is added twice, or changed unseen.
        assert self.known.get(key) == (old.metadata.resource_version if old else None)
        if new is None:
            del self.known[key]
        else:
            self.known[key] = new.metadata.resource_version

    def lists(self) -> float:
        return self.metrics.registry.get_sample_value("watch_lists_total", {"resource": "things"}) or 0

    async def agrees(self, api: Api, things: Resource[CustomObject], namespace: str) -> None:
        """Wait until what it knows is what the API server has."""
        actual = {
            obj.metadata.key: obj.metadata.resource_version for obj in await api.list(things, namespace)
        }
        await until(lambda: self.known == actual)
        assert {
            key: obj.metadata.resource_version
            for key in self.informer.store
            if (obj := self.informer.store.get(key))
        } == actual


class Stage:
    """Where a test plays: a namespace with some things, a proxy, and a follower behind it."""

    def __init__(self, api: Api, proxy: FaultProxy, things: Resource[CustomObject], namespace: str) -> None:
        self.api = api
        self.proxy = proxy
        self.things = things
        self.namespace = namespace

    async def create(self, name: str, size: int = 1) -> CustomObject:
        body = {"metadata": {"name": name}, "spec": {"value": "x" * size}}
        return await self.api.create(self.things, body, namespace=self.namespace)

    async def change(self, name: str, value: str = "changed") -> CustomObject:
        return await self.api.patch(self.things, self.namespace, name, {"spec": {"value": value}})

    async def delete(self, name: str) -> None:
        await self.api.delete(self.things, self.namespace, name)

    async def everything(self) -> None:
        """Add, change and delete, so that a follower who missed any of it differs."""
        await self.create("new")
        await self.change("thing-1")
        await self.delete("thing-2")
        await self.delete("thing-3")
        await self.create("thing-3")

    @asynccontextmanager
    async def follower(
        self, faulty: Api, *, synced: bool = True, tuning: Tuning = FAST
    ) -> AsyncIterator[Follower]:
        follower = Follower(faulty, self.things, self.namespace, tuning)
        task = asyncio.create_task(follower.informer.run())
        try:
            if synced:
                await follower.informer.synced.wait()
            yield follower
            await follower.agrees(self.api, self.things, self.namespace)
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
async def stage(api: Api, proxy: FaultProxy, things: Resource[CustomObject], namespace: str) -> Stage:
    stage = Stage(api, proxy, things, namespace)
    for number in range(10):
        await stage.create(f"thing-{number}")
    return stage


@pytest.mark.parametrize("streams_lists", [True, False])
async def test_follows_a_healthy_server(stage: Stage, faulty: Api, streams_lists: bool) -> None:
    if not streams_lists:
        stage.proxy.forbid_streamed_lists()
    async with stage.follower(faulty) as follower:
        assert len(follower.known) == 10
        await stage.everything()
    assert follower.lists() == 1
    # By pages: the first, which version 0 makes whole, is all there is; streamed: none.
    assert stage.proxy.count("list") == (0 if streams_lists else 1)


async def test_H13_a_cut_connection_loses_nothing_and_lists_nothing(stage: Stage, faulty: Api) -> None:
    async with stage.follower(faulty) as follower:
        stage.proxy.cut()
        await stage.everything()
        stage.proxy.heal()
        await follower.agrees(stage.api, stage.things, stage.namespace)
    assert follower.lists() == 1


async def test_P2_a_stalled_watch_is_replaced_and_a_missed_deletion_seen(stage: Stage, faulty: Api) -> None:
    async with stage.follower(faulty) as follower:
        before = stage.proxy.count("watch")
        stage.proxy.stall()
        await stage.everything()
        assert "new" not in " ".join(follower.known)
        await follower.agrees(stage.api, stage.things, stage.namespace)
        assert stage.proxy.count("watch") > before
    assert follower.lists() == 1


async def test_a_reset_in_the_middle_of_an_event(stage: Stage, faulty: Api) -> None:
    async with stage.follower(faulty) as follower:
        stage.proxy.break_in_event()
        await stage.everything()
        await follower.agrees(stage.api, stage.things, stage.namespace)
    assert follower.lists() == 1


async def test_an_event_of_more_than_a_megabyte_in_many_chunks(stage: Stage, faulty: Api) -> None:
    async with stage.follower(faulty) as follower:
        stage.proxy.split = 2000
        # etcd takes requests of up to 1.5 MiB.
        await stage.create("huge", 1_500_000)
        await follower.agrees(stage.api, stage.things, stage.namespace)
        huge = follower.informer.store.get(f"{stage.namespace}/huge")
        assert huge is not None
        assert len(huge.spec["value"]) == 1_500_000


async def test_a_slow_network(stage: Stage, faulty: Api) -> None:
    stage.proxy.delay = 0.2
    async with stage.follower(faulty):
        await stage.everything()


@pytest.mark.parametrize("as_event", [True, False])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("streams_lists", [True, False])
async def test_410_on_the_watch(
    stage: Stage, faulty: Api, as_event: bool, times: int, streams_lists: bool
) -> None:
    if not streams_lists:
        stage.proxy.forbid_streamed_lists()
    async with stage.follower(faulty) as follower:
        if as_event:
            stage.proxy.plan_event(410, "Expired", times=times)
        else:
            stage.proxy.plan("watch", 410, "Expired", times=times)
        stage.proxy.drop()
        await stage.everything()
        planned = [plan for plan in stage.proxy.plans if plan.status != 422]
        await until(lambda: follower.lists() >= 2 and not any(plan.times for plan in planned))


async def test_410_is_followed_by_a_list_at_once_however_long_the_waits_for_failures_are(
    stage: Stage, faulty: Api
) -> None:
    async with stage.follower(faulty, tuning=replace(FAST, backoff_base=0.1, backoff_cap=30)) as follower:
        stage.proxy.plan("watch", 500, "InternalError", times=3)
        stage.proxy.drop()
        await stage.everything()
        await follower.agrees(stage.api, stage.things, stage.namespace)
        # Broken connections and 500s have cost 0.1, 0.2, 0.4 and 0.8 s so far, and this one 1.6 s.
        stage.proxy.plan_event(410, "Expired")
        stage.proxy.drop()
        await until(lambda: not any(plan.times for plan in stage.proxy.plans))
        began = time.monotonic()
        await until(lambda: follower.lists() == 2)
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("times", [1, 2])
async def test_410_on_a_further_page(stage: Stage, faulty: Api, times: int) -> None:
    stage.proxy.forbid_streamed_lists()
    stage.proxy.plan("list", 410, "Expired", times=times, page=True)
    # From version 0 a server gives all at once; once expired the list is paged.
    stage.proxy.plan("list", 410, "Expired")
    async with stage.follower(faulty) as follower:
        assert len(follower.known) == 10
    assert stage.proxy.plans[1].times == 0


async def test_P9_429_with_retry_after_on_lists_and_watches(stage: Stage, faulty: Api) -> None:
    stage.proxy.forbid_streamed_lists()
    stage.proxy.plan("list", 429, "TooManyRequests", times=2, retry_after=1)
    stage.proxy.plan("watch", 429, "TooManyRequests", times=2, retry_after=1)
    async with stage.follower(faulty) as follower:
        await stage.everything()
        await follower.agrees(stage.api, stage.things, stage.namespace)
    for kind in ("list", "watch"):
        # The streamed list that is refused first is a watch as well, and isn't what was told to wait.
        times = [
            one.at for one in stage.proxy.seen if one.kind == kind and "sendInitialEvents" not in one.query
        ]
        assert all(later - earlier >= 1 for earlier, later in pairwise(times[:3]))


async def test_no_busy_loop_while_the_server_fails(stage: Stage, faulty: Api) -> None:
    async with stage.follower(faulty) as follower:
        stage.proxy.plan("watch", 500, "InternalError", times=1_000_000)
        stage.proxy.drop()
        before = len(stage.proxy.seen)
        ends = asyncio.get_running_loop().time() + 3
        await until(lambda: asyncio.get_running_loop().time() >= ends)
        # Waits of 0.05, 0.1, 0.2, 0.4, 0.5, 0.5 … seconds and more.
        assert len(stage.proxy.seen) - before <= 12
        stage.proxy.plans.clear()
        await stage.everything()
        await follower.agrees(stage.api, stage.things, stage.namespace)


async def test_H13_a_real_410(stage: Stage, faulty: Api) -> None:
    source = Source(faulty, stage.things, stage.namespace, tuning=FAST, metrics=Metrics())
    with pytest.raises(Expired):
        async with source.watch("1") as events:
            await anext(events)


async def test_a_version_the_server_has_not_reached_is_as_good_as_expired(stage: Stage, faulty: Api) -> None:
    version, _ = await Source(faulty, stage.things, stage.namespace, tuning=FAST, metrics=Metrics()).list("")
    ahead = str(int(version) + 1_000_000)
    slow = Tuning(silence=30)
    source = Source(faulty, stage.things, stage.namespace, tuning=slow, metrics=Metrics())
    with pytest.raises(Expired):
        await source.list(ahead)


@pytest.mark.parametrize("seed", range(3))
async def test_nothing_is_lost_in_any_weather(stage: Stage, faulty: Api, seed: int) -> None:
    chance = random.Random(seed)
    proxy = stage.proxy
    weather: list[Callable[[], object]] = [
        proxy.cut,
        proxy.drop,
        proxy.stall,
        proxy.break_in_event,
        proxy.heal,
        lambda: setattr(proxy, "split", chance.randint(1, 500)),
        lambda: setattr(proxy, "delay", chance.uniform(0, 0.05)),
        lambda: proxy.plan_event(410, "Expired"),
        lambda: proxy.plan("watch", 429, "TooManyRequests", retry_after=1),
        lambda: proxy.plan("watch", 500, "InternalError"),
    ]
    changes: list[Callable[[str], Awaitable[object]]] = [stage.create, stage.change, stage.delete]
    async with stage.follower(faulty) as follower:
        for _ in range(120):
            if chance.random() < 0.2:
                chance.choice(weather)()
            try:
                await chance.choice(changes)(f"thing-{chance.randint(0, 9)}")
            except KubeError:
                continue
        proxy.heal()
        proxy.plans.clear()
        await follower.agrees(stage.api, stage.things, stage.namespace)
