"""Election between processes, on a real API server: killed, frozen, cut off.

Each replica writes to one object while it leads, and each write and each change of the Lease has a version
from the same etcd. So the order in which the API server took them is known, and the claim that two never
act is checked to the letter: whoever wrote held the Lease at that very version.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from app.kube.api import Api
from app.kube.objects import CustomObject, Lease, Object
from app.kube.resources import LEASES, Resource
from app.kube.watching import DEFAULT, Source
from app.ops.metrics import Metrics
from tests.integration.kube.faultproxy import FaultProxy, fault_proxy, kubeconfig_for
from tests.unit.kube.fakes import until

pytestmark = pytest.mark.integration

QUICK = ("3", "2", "0.4")
DEFAULTS = ("15", "10", "2")

WORK: Resource[CustomObject] = Resource("", "v1", "configmaps", "ConfigMap", CustomObject)


class Data(Object, frozen=True, gc=False):
    """A ConfigMap with its data."""

    data: dict[str, str] | None = None


RECORDED: Resource[Data] = Resource("", "v1", "configmaps", "ConfigMap", Data)


class Record:
    """Who held the Lease and who wrote, by version."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.holders: list[tuple[int, str]] = []
        self.writers: list[tuple[int, str]] = []
        self._api = api
        self._namespace = namespace

    async def follow(self) -> None:
        metrics = Metrics()
        leases = Source(self._api, LEASES, self._namespace, tuning=DEFAULT, metrics=metrics)
        works = Source(self._api, RECORDED, self._namespace, tuning=DEFAULT, metrics=metrics)
        version, _ = await works.list("")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._holders(leases, version))
            group.create_task(self._writers(works, version))

    async def _holders(self, source: Source[Lease], version: str) -> None:
        async with source.watch(version) as events:
            async for event in events:
                if event.obj is not None:
                    self.holders.append((int(event.resource_version), event.obj.spec.holder_identity or ""))

    async def _writers(self, source: Source[Data], version: str) -> None:
        async with source.watch(version) as events:
            async for event in events:
                data = (event.obj.data if event.obj else None) or {}
                if "by" in data:
                    self.writers.append((int(event.resource_version), data["by"]))

    @property
    def holder(self) -> str:
        return self.holders[-1][1] if self.holders else ""

    @property
    def writer(self) -> str:
        return self.writers[-1][1] if self.writers else ""

    async def writes(self, number: int) -> None:
        """Wait for so many more writes, by whomever."""
        wanted = len(self.writers) + number
        await until(lambda: len(self.writers) >= wanted)

    def check(self) -> None:
        steps = sorted(
            [(version, "held", who) for version, who in self.holders]
            + [(version, "wrote", who) for version, who in self.writers]
        )
        holder = ""
        for version, what, who in steps:
            if what == "held":
                holder = who
            else:
                assert who == holder, f"{who} wrote at {version} while {holder or 'nobody'} held the Lease"


class Replicas:
    """The processes, each with a connection of its own to cut."""

    def __init__(self, api: Api, namespace: str, record: Record) -> None:
        self.api = api
        self.namespace = namespace
        self.record = record
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.proxies: dict[str, FaultProxy] = {}

    async def start(self, identity: str, proxy: FaultProxy, directory: Path, timing: tuple[str, ...]) -> None:
        self.proxies[identity] = proxy
        config = kubeconfig_for(proxy.url, directory / identity)
        arguments = [str(config), self.namespace, identity, *timing]
        self.processes[identity] = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.integration.kube.replica",
            *arguments,
            # The times that people read are in UTC wherever it runs, and nothing else depends on them.
            env={**os.environ, "TZ": "Asia/Kolkata"},
        )

    async def leader(self, *, other_than: str = "") -> str:
        """Wait until there is a leader that works, and return who."""
        await until(
            lambda: self.record.writer not in {"", other_than} and self.record.writer == self.record.holder
        )
        return self.record.writer

    async def watching(self) -> None:
        """Wait until all are up and watch the Lease."""
        await until(lambda: all(proxy.streams for proxy in self.proxies.values()))

    async def end(self) -> None:
        for process in self.processes.values():
            if process.returncode is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            await process.wait()


@asynccontextmanager
async def replicas(
    number: int, api: Api, namespace: str, kubeconfig: Path, directory: Path, timing: tuple[str, ...] = QUICK
) -> AsyncIterator[Replicas]:
    await api.create(WORK, {"metadata": {"name": "work"}}, namespace=namespace)
    record = Record(api, namespace)
    following = asyncio.create_task(record.follow())
    made = Replicas(api, namespace, record)
    async with AsyncExitStack() as stack:
        try:
            for index in range(number):
                proxy = await stack.enter_async_context(fault_proxy(kubeconfig))
                await made.start(f"replica-{index}", proxy, directory, timing)
            yield made
        finally:
            await made.end()
            following.cancel()
            await asyncio.wait([following])
    record.check()
    assert record.writers


def now() -> float:
    return asyncio.get_running_loop().time()


@pytest.mark.parametrize("number", [2, 3])
async def test_I5_killed_leader_is_followed(
    number: int, api: Api, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    async with replicas(number, api, namespace, kubeconfig, tmp_path) as made:
        first = await made.leader()
        made.processes[first].kill()
        assert await made.leader(other_than=first) != first


async def test_I5_killed_leader_is_followed_within_17_seconds_with_the_defaults(
    api: Api, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    async with replicas(2, api, namespace, kubeconfig, tmp_path, DEFAULTS) as made:
        first = await made.leader()
        await made.watching()
        began = now()
        made.processes[first].kill()
        await made.leader(other_than=first)
        assert now() - began <= 17


async def test_I4_clean_shutdown_hands_over_within_a_second(
    api: Api, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    async with replicas(2, api, namespace, kubeconfig, tmp_path, DEFAULTS) as made:
        first = await made.leader()
        await made.watching()
        began = now()
        made.processes[first].terminate()
        await made.leader(other_than=first)
        assert now() - began <= 1
        assert await made.processes[first].wait() == 0


@pytest.mark.parametrize("number", [2, 3])
async def test_frozen_leader_that_goes_on_does_not_act(
    number: int, api: Api, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    async with replicas(number, api, namespace, kubeconfig, tmp_path) as made:
        for _ in range(2):
            first = await made.leader()
            made.processes[first].send_signal(signal.SIGSTOP)
            await made.leader(other_than=first)
            made.processes[first].send_signal(signal.SIGCONT)
            # Long enough for it to wake up and to do what it shouldn't.
            await made.record.writes(100)


@pytest.mark.parametrize("number", [2, 3])
async def test_leader_that_is_cut_off_stops_before_the_next_one_starts(
    number: int, api: Api, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    async with replicas(number, api, namespace, kubeconfig, tmp_path) as made:
        for _ in range(2):
            first = await made.leader()
            # A network that swallows packets, so that nobody is told of it.
            made.proxies[first].black_hole = True
            made.proxies[first].stall()
            await made.leader(other_than=first)
            made.proxies[first].heal()
            await made.record.writes(100)


async def test_times_in_the_lease_are_utc(api: Api, namespace: str, kubeconfig: Path, tmp_path: Path) -> None:
    async with replicas(1, api, namespace, kubeconfig, tmp_path) as made:
        await made.leader()
        lease = await api.get(LEASES, namespace, "operator")
        created = lease.metadata.creation_timestamp or ""
        # The server's own clock, to the minute; Kolkata is 5 h 30 min ahead.
        assert (lease.spec.acquire_time or "")[:15] == created[:15]
