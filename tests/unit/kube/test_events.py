"""Events: never in the way, repeated ones counted, none too long."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.kube.api import Api
from app.kube.events import NOTE_BYTES, Recorder, Reference
from app.kube.transport import Request
from app.ops.metrics import Metrics
from tests.unit.kube.fakes import FakeServer, failure

# Finer than the clock of asyncio, below which a random wait would never be over.
pytestmark = pytest.mark.looptime(resolution=1e-9)

ABOUT = Reference("example.com/v1", "Thing", "a", "ns", "uid-a")
ROOT = "/apis/events.k8s.io/v1/namespaces/ns/events"


class Bench:
    def __init__(self) -> None:
        self.server = FakeServer()
        self.metrics = Metrics()
        self.recorder = Recorder(
            Api(self.server),
            controller="example.com/operator",
            instance="pod",
            metrics=self.metrics,
            clock=asyncio.get_running_loop().time,
        )

    def emit(self, note: str = "note", about: Reference = ABOUT) -> None:
        self.recorder.emit(about, "Normal", "Reason", "Act", note)

    def events(self) -> list[dict[str, Any]]:
        return [body for path, body in self.server.objects.items() if "/events/" in path]

    def dropped(self, cause: str) -> float:
        return self.metrics.registry.get_sample_value("events_dropped_total", {"cause": cause}) or 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.recorder.run())
        yield
        task.cancel()
        await asyncio.wait([task])


async def test_repeats_become_one_series_written_now_and_then() -> None:
    bench = Bench()
    async with bench.running():
        for _ in range(600):
            bench.emit()
            await asyncio.sleep(1)
        await asyncio.sleep(20)
    [event] = bench.events()
    assert event["series"]["count"] == 600
    assert len(bench.server.writes()) < 75


async def test_different_notes_are_different_events() -> None:
    bench = Bench()
    async with bench.running():
        bench.emit("one")
        bench.emit("two")
        await asyncio.sleep(1)
    assert sorted(event["note"] for event in bench.events()) == ["one", "two"]


async def test_an_event_that_expired_is_written_anew() -> None:
    bench = Bench()
    async with bench.running():
        bench.emit()
        await asyncio.sleep(1)
        bench.server.remove(next(iter(bench.server.objects)))
        bench.emit()
        await asyncio.sleep(20)
    [event] = bench.events()
    assert event["series"]["count"] == 2


async def test_what_the_server_could_not_take_is_tried_again_and_a_refusal_is_not() -> None:
    bench = Bench()
    bench.server.step = failing(failure(500, "InternalError"))
    async with bench.running():
        bench.emit()
        await asyncio.sleep(25)
        bench.server.step = None
        await asyncio.sleep(25)
        assert len(bench.events()) == 1
        bench.server.step = failing(failure(403, "Forbidden"))
        bench.emit("refused")
        await asyncio.sleep(25)
        assert bench.dropped("refused") == 1
        before = len(bench.server.requests)
        await asyncio.sleep(100)
        assert len(bench.server.requests) == before


def failing(error: Exception) -> Any:
    async def step(_request: Request) -> None:
        raise error

    return step


async def test_a_hanging_server_delays_nobody_and_costs_bounded_memory() -> None:
    bench = Bench()
    bench.server.step = failing(failure(500, "InternalError"))
    loop = asyncio.get_running_loop()
    began = loop.time()
    for number in range(5000):
        bench.emit(f"note {number}")
    assert loop.time() == began
    assert bench.dropped("queue full") == 4000
    assert len(bench.recorder._series) <= 2000


async def test_I4_flush_writes_what_is_left_within_its_time() -> None:
    bench = Bench()
    bench.emit()
    bench.emit()
    await bench.recorder.flush(deadline=5)
    [event] = bench.events()
    assert event["series"]["count"] == 2

    async def hang(_request: Request) -> None:
        await asyncio.Event().wait()

    bench.server.step = hang
    loop = asyncio.get_running_loop()
    began = loop.time()
    bench.emit("another")
    await bench.recorder.flush(deadline=3)
    assert loop.time() - began <= 3


async def test_a_note_is_cut_between_two_characters() -> None:
    bench = Bench()
    bench.emit("é" * 1000)
    await bench.recorder.flush(deadline=5)
    [event] = bench.events()
    assert len(event["note"].encode()) <= NOTE_BYTES
    assert event["note"].endswith("é…")


async def test_an_event_of_a_cluster_wide_object_lives_in_default() -> None:
    bench = Bench()
    bench.emit(about=Reference("v1", "Node", "n" * 253, "", "u"))
    await bench.recorder.flush(deadline=5)
    [request] = bench.server.writes()
    assert request.path == "/apis/events.k8s.io/v1/namespaces/default/events"
    assert len(json.loads(request.body or b"")["metadata"]["name"]) <= 253


async def test_P11_series_of_a_deleted_object_are_forgotten() -> None:
    bench = Bench()
    async with bench.running():
        bench.emit()
        await asyncio.sleep(1)
        bench.recorder.forget("uid-a")
    assert not bench.recorder._series
