"""P3: a task that must not end is started again, or ends the process."""

import asyncio
from itertools import pairwise

import pytest

from app.ops.metrics import Metrics
from app.ops.supervision import KeepsDying, supervise

pytestmark = pytest.mark.looptime(resolution=1e-9)


def restarts(metrics: Metrics) -> float | None:
    return metrics.registry.get_sample_value("task_restarts_total", {"task": "watcher"})


async def test_P3_a_task_that_ends_is_started_again_and_counted() -> None:
    metrics = Metrics()
    alive = asyncio.Event()
    runs = 0

    async def watch() -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise ValueError("died")
        if runs == 3:
            alive.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(supervise("watcher", watch, metrics=metrics))
    await alive.wait()
    assert restarts(metrics) == 2
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_P3_one_that_keeps_dying_ends_with_the_reason() -> None:
    times: list[float] = []

    async def watch() -> None:
        times.append(asyncio.get_running_loop().time())
        raise ValueError("no such thing")

    with pytest.raises(KeepsDying, match=r"watcher ended 5 times within 300 s, last: no such thing") as info:
        await supervise("watcher", watch, metrics=Metrics())
    assert isinstance(info.value.__cause__, ValueError)
    for (earlier, later), least in zip(pairwise(times), [1, 2, 4, 8], strict=True):
        assert least <= later - earlier <= 1.5 * least


async def test_rare_ends_are_forgiven() -> None:
    metrics = Metrics()

    async def watch() -> None:
        await asyncio.sleep(100)

    task = asyncio.create_task(supervise("watcher", watch, metrics=metrics))
    await asyncio.sleep(5000)
    assert not task.done()
    assert (restarts(metrics) or 0) > 40
    task.cancel()
    await asyncio.wait([task])


async def test_a_proper_end_is_let_pass() -> None:
    async def watch() -> None:
        raise StopAsyncIteration

    with pytest.raises(StopAsyncIteration):
        await supervise("watcher", watch, metrics=Metrics(), final=(StopAsyncIteration,))
