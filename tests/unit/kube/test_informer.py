"""The informer's promises, in virtual time where they are about time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from app.kube import watching
from app.kube.api import Api
from app.kube.informer import Informer
from app.kube.objects import Pod
from app.kube.resources import PODS
from app.kube.transport import Request
from app.ops.metrics import Metrics
from tests.unit.kube.fakes import FakeServer, failure, until

# Finer than the clock of asyncio, below which a random wait would never be over.
pytestmark = pytest.mark.looptime(resolution=1e-9)

ROOT = "/api/v1/namespaces/ns/pods"


class Seen:
    """What a subscriber was told, as ``+name``, ``~name`` and ``-name``."""

    def __init__(self) -> None:
        self.changes: list[str] = []

    def __call__(self, old: Pod | None, new: Pod | None) -> None:
        sign = "+" if old is None else "-" if new is None else "~"
        obj = new or old
        assert obj is not None
        self.changes.append(sign + obj.metadata.name)


def pod(name: str, **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "ns", "labels": labels}}


@asynccontextmanager
async def running(server: FakeServer, seen: Seen) -> AsyncIterator[Informer[Pod]]:
    informer = Informer(Api(server), PODS, namespace="ns", metrics=Metrics())
    informer.subscribe(seen)
    task = asyncio.create_task(informer.run())
    try:
        yield informer
    finally:
        task.cancel()
        await asyncio.wait([task])


@pytest.fixture
def server() -> FakeServer:
    server = FakeServer()
    server.put(f"{ROOT}/a", pod("a"))
    server.put(f"{ROOT}/b", pod("b"))
    return server


@pytest.mark.parametrize("streams_lists", [True, False])
async def test_lists_then_watches(server: FakeServer, streams_lists: bool) -> None:
    server.streams_lists = streams_lists
    seen = Seen()
    async with running(server, seen) as informer:
        await informer.synced.wait()
        assert sorted(seen.changes) == ["+a", "+b"]
        server.put(f"{ROOT}/c", pod("c"))
        changed = server.put(f"{ROOT}/a", pod("a", x="y"))
        server.remove(f"{ROOT}/b")
        await informer.saw(str(server.version))
        assert seen.changes[2:] == ["+c", "~a", "-b"]
        assert informer.store.keys() == ["ns/a", "ns/c"]
        assert informer.version == str(server.version) > changed["metadata"]["resourceVersion"]


async def test_late_subscriber_is_told_what_there_is(server: FakeServer) -> None:
    async with running(server, Seen()) as informer:
        await informer.synced.wait()
        late = Seen()
        informer.subscribe(late)
        assert sorted(late.changes) == ["+a", "+b"]


async def test_a_failing_subscriber_costs_nobody_an_event(server: FakeServer) -> None:
    def broken(_old: Pod | None, _new: Pod | None) -> None:
        raise RuntimeError("broken")

    seen = Seen()
    informer = Informer(Api(server), PODS, namespace="ns", metrics=Metrics())
    informer.subscribe(broken)
    informer.subscribe(seen)
    task = asyncio.create_task(informer.run())
    await informer.synced.wait()
    assert sorted(seen.changes) == ["+a", "+b"]
    task.cancel()
    await asyncio.wait([task])


async def test_P2_silent_watch_is_replaced_within_75_seconds_and_nothing_missed(server: FakeServer) -> None:
    seen = Seen()
    loop = asyncio.get_running_loop()
    async with running(server, seen) as informer:
        await informer.synced.wait()
        server.kill_watches()
        server.remove(f"{ROOT}/b")
        server.put(f"{ROOT}/c", pod("c"))
        began = loop.time()
        await informer.saw(str(server.version))
        assert loop.time() - began <= 75
        assert seen.changes[2:] == ["-b", "+c"]


async def test_P9_watch_waits_as_long_as_the_server_asks(server: FakeServer) -> None:
    times: list[float] = []
    loop = asyncio.get_running_loop()

    async def busy(request: Request) -> None:
        times.append(loop.time())
        if len(times) <= 3:
            raise failure(429, "TooManyRequests", details={"retryAfterSeconds": 7})

    server.step = busy
    async with running(server, Seen()) as informer:
        await informer.synced.wait()
    assert all(later - earlier >= 7 for earlier, later in pairwise(times[:4]))


async def test_410_replaces_the_store_and_tells_of_what_vanished(server: FakeServer) -> None:
    seen = Seen()
    async with running(server, seen) as informer:
        await informer.synced.wait()
        server.kill_watches()
        server.remove(f"{ROOT}/a")
        server.put(f"{ROOT}/b", pod("b", x="y"))
        server.put(f"{ROOT}/c", pod("c"))
        server.compact()
        await informer.saw(str(server.version))
        assert seen.changes[2:] == ["-a", "~b", "+c"]


async def test_410_again_and_again_waits_a_little_and_no_more(server: FakeServer) -> None:
    server.streams_lists = False
    lists: list[tuple[float, str | None]] = []
    loop = asyncio.get_running_loop()

    async def gone(request: Request) -> None:
        if "watch" not in request.query:
            lists.append((loop.time(), request.query.get("resourceVersion")))
            if len(lists) <= 7:
                raise failure(410, "Expired")

    server.step = gone
    async with running(server, Seen()) as informer:
        await informer.synced.wait()
    assert [version for _, version in lists] == ["0", *[None] * 7]
    waits = [later - earlier for (earlier, _), (later, _) in pairwise(lists)]
    for wait, least in zip(waits, [0, 0.8, 1.6, 3.2, 5, 5, 5], strict=True):
        assert least <= wait <= least * 1.5


async def test_410_is_followed_by_a_list_at_once_whatever_failed_before(server: FakeServer) -> None:
    loop = asyncio.get_running_loop()
    failures = 6

    async def down(request: Request) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise failure(500, "InternalError")

    seen = Seen()
    server.step = down
    async with running(server, seen) as informer:
        await informer.synced.wait()
        for number in range(3):
            await asyncio.sleep(15)
            server.expire_watches()
            server.put(f"{ROOT}/c{number}", pod(f"c{number}"))
            began = loop.time()
            await informer.saw(str(server.version))
            assert loop.time() - began < 0.01


async def test_a_resource_that_is_not_served_yet_is_followed_soon_after_it_is(server: FakeServer) -> None:
    loop = asyncio.get_running_loop()
    served_at = loop.time() + 20.0

    async def absent(request: Request) -> None:
        if loop.time() < served_at:
            raise failure(404, "NotFound")

    server.step = absent
    async with running(server, Seen()) as informer:
        await informer.synced.wait()
        assert loop.time() - served_at <= 1.5
    assert len(server.requests) < 50


async def test_after_a_list_by_pages_the_watch_is_opened_at_once(server: FakeServer) -> None:
    server.streams_lists = False
    loop = asyncio.get_running_loop()
    async with running(server, Seen()) as informer:
        await informer.synced.wait()
        began = loop.time()
        server.put(f"{ROOT}/c", pod("c"))
        await informer.saw(str(server.version))
        assert loop.time() - began < 0.01


@pytest.mark.parametrize("streams_lists", [True, False])
async def test_a_list_keeps_the_objects_that_did_not_change(server: FakeServer, streams_lists: bool) -> None:
    server.streams_lists = streams_lists
    seen = Seen()
    async with running(server, seen) as informer:
        await informer.synced.wait()
        before = {key: informer.store.get(key) for key in informer.store}
        server.kill_watches()
        changed = server.put(f"{ROOT}/b", pod("b", x="y"))
        server.compact()
        await informer.saw(str(server.version))
        assert informer.store.get("ns/a") is before["ns/a"]
        found = informer.store.get("ns/b")
        assert found is not None
        assert found.metadata.resource_version == changed["metadata"]["resourceVersion"]
        assert seen.changes[2:] == ["~b"]


async def test_failures_back_off_to_thirty_seconds_and_no_further(server: FakeServer) -> None:
    times: list[float] = []
    loop = asyncio.get_running_loop()

    async def down(request: Request) -> None:
        times.append(loop.time())
        raise failure(500, "InternalError")

    server.step = down
    async with running(server, Seen()):
        await until(lambda: len(times) >= 12)
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert 30 <= max(waits) <= 45
    assert len(times) < 20


async def test_a_watch_that_ends_at_once_makes_no_busy_loop(server: FakeServer) -> None:
    async with running(server, Seen()) as informer:
        await informer.synced.wait()
        before = len(server.requests)

        @asynccontextmanager
        async def ended(*_: object, **__: object) -> AsyncIterator[AsyncIterator[bytes]]:
            server.requests.append(Request("GET", ROOT, {"watch": "true"}))
            yield nothing()

        async def nothing() -> AsyncIterator[bytes]:
            return
            yield b""

        server.stream = ended  # type: ignore[method-assign]  # the fault of this test
        await asyncio.sleep(300)
        assert len(server.requests) - before < 25


async def test_object_that_does_not_fit_is_skipped_and_counted(server: FakeServer) -> None:
    metrics = Metrics()
    server.put(f"{ROOT}/bad", {"metadata": {"name": "bad", "namespace": "ns"}, "spec": "not a spec"})
    informer = Informer(Api(server), PODS, namespace="ns", metrics=metrics)
    task = asyncio.create_task(informer.run())
    await informer.synced.wait()
    server.put(f"{ROOT}/c", pod("c"))
    await informer.saw(str(server.version))
    assert informer.store.keys() == ["ns/a", "ns/b", "ns/c"]
    assert metrics.registry.get_sample_value("watch_undecodable_objects_total", {"resource": "pods"}) == 1
    task.cancel()
    await asyncio.wait([task])


async def test_events_that_are_repeated_or_stale_are_not_told(server: FakeServer) -> None:
    seen = Seen()
    async with running(server, seen) as informer:
        await informer.synced.wait()
        old = server.objects[f"{ROOT}/a"]
        server.put(f"{ROOT}/a", pod("a", x="y"))
        server.history.append((server.version + 1, "MODIFIED", {"path": f"{ROOT}/a", "object": old}))
        server.version += 1
        server.put(f"{ROOT}/c", pod("c"))
        await informer.saw(str(server.version))
        assert seen.changes[2:] == ["~a", "+c"]
        found = informer.store.get("ns/a")
        assert found is not None
        assert found.metadata.label("x") == "y"


async def test_P6_saw_waits_for_a_version_and_for_an_object_to_go(server: FakeServer) -> None:
    async with running(server, Seen()) as informer:
        await informer.synced.wait()
        obj = informer.store.get("ns/a")
        assert obj is not None
        waiting = asyncio.create_task(informer.saw_gone("ns/a", obj.metadata.uid))
        ahead = asyncio.create_task(informer.saw(str(server.version + 2)))
        await asyncio.sleep(5)
        assert not waiting.done()
        server.remove(f"{ROOT}/a")
        await waiting
        assert not ahead.done()
        server.put(f"{ROOT}/c", pod("c"))
        await ahead


@pytest.mark.parametrize("streams_lists", [True, False])
async def test_P19_others_get_turns_while_a_list_is_decoded(
    server: FakeServer, streams_lists: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "STEP_SECONDS", 0)
    for number in range(500):
        server.put(f"{ROOT}/p{number}", pod(f"p{number}"))
    server.streams_lists = streams_lists
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with running(server, Seen()) as informer:
        task = asyncio.create_task(other())
        await informer.synced.wait()
        task.cancel()
        await asyncio.wait([task])
    # Once for each object while it is decoded, once while it is stored.
    assert turns > 1000
