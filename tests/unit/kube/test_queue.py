"""The queue's promises: each key once, none lost, none delayed by another's failures."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.kube.queue import LOW, ShutDown, WorkQueue
from app.ops.metrics import Metrics

looptime = pytest.mark.looptime(resolution=1e-9)


def make(metrics: Metrics | None = None) -> WorkQueue:
    return WorkQueue("clusters", metrics=metrics or Metrics())


async def test_each_key_once_in_order() -> None:
    queue = make()
    for key in ("a", "b", "a"):
        queue.add(key)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_an_edit_passes_a_flood_of_low_priority() -> None:
    queue = make()
    for number in range(1000):
        queue.add(f"key-{number}", priority=LOW)
    queue.add("key-500")
    queue.add("fresh")
    assert [await queue.get(), await queue.get(), await queue.get()] == ["key-500", "fresh", "key-0"]


async def test_P7_a_key_added_while_in_work_is_queued_again_when_done() -> None:
    queue = make()
    queue.add("a")
    await queue.get()
    queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await queue.get() == "a"


@looptime
async def test_A4_failures_wait_from_5_ms_to_1000_s_with_jitter() -> None:
    queue = make()
    waits = []
    for _ in range(25):
        queue.add("a")
        await queue.get()
        waits.append(queue.retry("a"))
        queue.done("a")
        queue.drop("x")
    for number, wait in enumerate(waits):
        least = min(0.005 * 2**number, 1000)
        assert least <= wait <= min(least * 1.5, 1000)
    assert waits[-1] == 1000


@looptime
async def test_A4_a_hot_loop_of_failures_slows_down() -> None:
    queue = make()
    loop = asyncio.get_running_loop()
    times = []
    queue.add("a")
    while loop.time() < 3600:
        key = await queue.get()
        times.append(loop.time())
        queue.retry(key)
        queue.done(key)
    assert len(times) < 25
    assert all(later > earlier for earlier, later in pairwise(times))


@looptime
async def test_an_edit_is_not_delayed_by_failures_of_its_key() -> None:
    queue = make()
    loop = asyncio.get_running_loop()
    queue.add("a")
    await queue.get()
    for _ in range(20):
        queue.retry("a")
    queue.done("a")
    queue.add("a")
    began = loop.time()
    assert await queue.get() == "a"
    assert loop.time() == began


@looptime
async def test_forgotten_failures_count_no_more() -> None:
    queue = make()
    for _ in range(10):
        queue.retry("a")
    queue.forget("a")
    assert queue.failures("a") == 0
    assert queue.retry("a") <= 0.0075


@looptime
async def test_of_several_timers_the_earliest_holds() -> None:
    queue = make()
    loop = asyncio.get_running_loop()
    queue.add_after("a", 10)
    queue.add_after("a", 3)
    queue.add_after("a", 7)
    await queue.get()
    assert loop.time() == 3
    queue.done("a")
    await asyncio.sleep(100)
    assert len(queue) == 0


@looptime
async def test_retry_obeys_what_the_server_asked() -> None:
    queue = make()
    assert queue.retry("a", at_least=7) == 7


@looptime
async def test_P11_nothing_is_kept_of_a_dropped_key() -> None:
    queue = make()
    queue.retry("a")
    queue.add_after("a", 5)
    queue.drop("a")
    await asyncio.sleep(10)
    assert len(queue) == 0
    assert not queue._failures
    assert not queue._timers


async def test_a_cancelled_getter_passes_its_key_on() -> None:
    queue = make()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    second_or_first = await asyncio.gather(first, second, return_exceptions=True)
    assert second_or_first[1] == "a" or second_or_first[0] == "a"


async def test_shut_down_sends_the_workers_home() -> None:
    queue = make()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add_after("a", 0.01)
    queue.shut_down()
    with pytest.raises(ShutDown):
        await waiting
    queue.add("b")
    with pytest.raises(ShutDown):
        await queue.get()


async def test_metrics() -> None:
    metrics = Metrics()
    now = 100.0
    queue = WorkQueue("clusters", metrics=metrics, clock=lambda: now)

    def value(name: str) -> float | None:
        return metrics.registry.get_sample_value(name, {"name": "clusters"})

    queue.add("a")
    queue.add("b")
    assert value("workqueue_depth") == 2
    await queue.get()
    now = 107.0
    assert value("workqueue_unfinished_work_seconds") == 7
    assert value("workqueue_longest_running_processor_seconds") == 7
    queue.done("a")
    assert value("workqueue_work_duration_seconds_sum") == 7
    assert value("workqueue_adds_total") == 2


@looptime
@settings(deadline=None)
@given(
    workers=st.integers(1, 5),
    adds=st.lists(st.tuples(st.integers(0, 4), st.floats(0, 3), st.booleans()), max_size=40),
)
async def test_P4_no_key_is_lost_or_in_two_hands(workers: int, adds: list[tuple[int, float, bool]]) -> None:
    queue = make()
    version = dict.fromkeys(range(5), 0)
    handled = dict(version)
    in_hand: set[str] = set()

    async def work() -> None:
        while True:
            key = await queue.get()
            assert key not in in_hand
            in_hand.add(key)
            seen = version[int(key)]
            await asyncio.sleep(1.3)
            handled[int(key)] = seen
            in_hand.remove(key)
            queue.done(key)

    tasks = [asyncio.create_task(work()) for _ in range(workers)]
    for number, wait, low in adds:
        await asyncio.sleep(wait)
        version[number] += 1
        queue.add(str(number), priority=LOW if low else 0)
    await asyncio.sleep(100)
    assert handled == version
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


class Model(RuleBasedStateMachine):
    """The queue beside a plain model of its three sets."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = make()
        self.queued: dict[str, int] = {}
        self.processing: set[str] = set()
        self.dirty: dict[str, int] = {}

    @rule(key=st.sampled_from("abcd"), priority=st.sampled_from([LOW, 0, 7]))
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        target = self.dirty if key in self.processing else self.queued
        target[key] = max(priority, target.get(key, priority))

    @precondition(lambda self: self.queued)
    @rule()
    def get(self) -> None:
        key = self.queue._pop()
        assert key is not None
        assert self.queued.pop(key) >= max(self.queued.values(), default=LOW)
        self.processing.add(key)

    @precondition(lambda self: self.processing)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.processing)))
        self.queue.done(key)
        self.processing.remove(key)
        if key in self.dirty:
            self.queued[key] = self.dirty.pop(key)

    @invariant()
    def same(self) -> None:
        assert {key: priority for key, (priority, _) in self.queue._queued.items()} == self.queued
        assert set(self.queue._processing) == self.processing
        assert self.queue._dirty == self.dirty


TestModel = Model.TestCase
