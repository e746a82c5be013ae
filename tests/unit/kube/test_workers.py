"""The workers: what follows from a reconcile's end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import structlog

from app.kube.api import Api
from app.kube.barrier import Barrier
from app.kube.errors import Conflict, TooManyRequests
from app.kube.informer import Informer
from app.kube.objects import Metadata, Pod
from app.kube.queue import WorkQueue
from app.kube.resources import PODS
from app.kube.workers import Workers
from app.ops.logging import add_bound
from app.ops.metrics import Metrics
from tests.unit.kube.fakes import FakeServer

# Finer than the clock of asyncio, below which a random wait would never be over.
pytestmark = pytest.mark.looptime(resolution=1e-9)


class Bench:
    def __init__(self, reconcile: Callable[[str], Awaitable[float | None]], number: int = 2) -> None:
        self.metrics = Metrics()
        self.queue = WorkQueue("things", metrics=self.metrics)
        self.barrier = Barrier()
        self.workers = Workers(
            self.queue,
            reconcile,
            controller="things",
            number=number,
            metrics=self.metrics,
            barrier=self.barrier,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.workers.run())
        yield
        self.queue.shut_down()
        await task

    def results(self, result: str) -> float:
        labels = {"controller": "things", "result": result}
        return self.metrics.registry.get_sample_value("controller_runtime_reconcile_total", labels) or 0


async def test_a_reconcile_that_asks_for_it_is_called_again() -> None:
    times: list[float] = []

    async def reconcile(_key: str) -> float | None:
        times.append(asyncio.get_running_loop().time())
        return 30 if len(times) < 3 else None

    bench = Bench(reconcile)
    async with bench.running():
        bench.queue.add("a")
        await asyncio.sleep(1000)
    assert times == [0, 30, 60]
    assert (bench.results("requeue_after"), bench.results("success")) == (2, 1)


async def test_an_edit_passes_those_whose_turn_has_come_again() -> None:
    done: list[str] = []

    async def reconcile(key: str) -> float | None:
        if asyncio.get_running_loop().time() >= 5:
            await asyncio.sleep(0.1)
        done.append(key)
        return 5

    bench = Bench(reconcile, number=1)
    async with bench.running():
        for number in range(10):
            bench.queue.add(f"settled-{number}")
        await asyncio.sleep(5.05)
        bench.queue.add("edited")
        await asyncio.sleep(2)
    assert done[10:12] == ["settled-0", "edited"]


@pytest.mark.parametrize("error", [Conflict("changed"), ValueError("a fault"), TimeoutError()])
async def test_a_failure_is_tried_again_and_forgotten_on_success(error: Exception) -> None:
    calls = 0

    async def reconcile(_key: str) -> float | None:
        nonlocal calls
        calls += 1
        if calls <= 3:
            raise error
        return None

    bench = Bench(reconcile)
    async with bench.running():
        bench.queue.add("a")
        await asyncio.sleep(1)
    assert calls == 4
    assert bench.results("error") == 3
    assert bench.queue.failures("a") == 0


async def test_P9_a_failure_waits_as_long_as_the_server_asked() -> None:
    times: list[float] = []

    async def reconcile(_key: str) -> float | None:
        times.append(asyncio.get_running_loop().time())
        if len(times) == 1:
            raise TooManyRequests("busy", retry_after=7)
        return None

    bench = Bench(reconcile)
    async with bench.running():
        bench.queue.add("a")
        await asyncio.sleep(60)
    assert times == [0, 7]


async def test_P8_one_key_that_hangs_delays_no_other_and_ends() -> None:
    done: list[str] = []

    async def reconcile(key: str) -> float | None:
        if key == "hangs":
            await asyncio.Event().wait()
        done.append(key)
        return None

    bench = Bench(reconcile)
    loop = asyncio.get_running_loop()
    async with bench.running():
        bench.queue.add("hangs")
        for number in range(50):
            bench.queue.add(f"key-{number}")
        began = loop.time()
        await asyncio.sleep(0.1)
        assert len(done) == 50
        assert loop.time() - began <= 0.1
        await asyncio.sleep(61)
        assert bench.results("error") >= 1


async def test_lines_of_a_reconcile_carry_its_key_and_an_id() -> None:
    log = structlog.get_logger()

    async def reconcile(_key: str) -> float | None:
        log.info("Did it")
        return None

    bench = Bench(reconcile)
    with structlog.testing.capture_logs(processors=[add_bound]) as logs:
        async with bench.running():
            bench.queue.add("ns/a")
            bench.queue.add("ns/b")
            await asyncio.sleep(1)
    told = [(line["key"], line["controller"]) for line in logs]
    assert told == [("ns/a", "things"), ("ns/b", "things")]
    assert len({line["reconcile"] for line in logs}) == 2


async def test_P6_a_key_waits_for_its_own_writes_and_for_no_longer_than_the_limit() -> None:
    server = FakeServer()
    informer = Informer(Api(server), PODS, namespace="ns", metrics=Metrics())
    following = asyncio.create_task(informer.run())
    await informer.synced.wait()
    times: list[float] = []

    async def reconcile(_key: str) -> float | None:
        times.append(asyncio.get_running_loop().time())
        return None

    bench = Bench(reconcile)
    loop = asyncio.get_running_loop()
    async with bench.running():
        ahead = Pod(metadata=Metadata(name="a", namespace="ns", resource_version=str(server.version + 1)))
        bench.barrier.wrote("key", informer, ahead)
        bench.queue.add("key")
        bench.queue.add("other")
        await asyncio.sleep(3)
        assert len(times) == 1
        server.put("/api/v1/namespaces/ns/pods/a", {"metadata": {"name": "a", "namespace": "ns"}})
        await asyncio.sleep(0.1)
        assert len(times) == 2
        never = Pod(metadata=Metadata(name="b", namespace="ns", resource_version="999999"))
        bench.barrier.wrote("key", informer, never)
        bench.queue.add("key")
        began = loop.time()
        await asyncio.sleep(11)
        assert times[2] - began == 10
    bench.barrier.wrote("gone", informer, never)
    bench.barrier.deleted("gone", informer, never)
    bench.barrier.forget("gone")
    assert await bench.barrier.wait("gone")
    following.cancel()
    await asyncio.wait([following])
