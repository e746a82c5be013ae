"""A cluster of real members on loopback, and how tests wait for it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from app.etcd.errors import EtcdError
from app.etcd.identity import Identity, bootstrap
from tests.integration.etcd.processes import Process

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
    from pathlib import Path

    from app.etcd.client import Client, Dialer
    from app.etcd.model import MemberList, Status

_T = TypeVar("_T")
DEADLINE = 5.0  # seconds for one call that is expected to be answered
PATIENCE = 30.0  # seconds for a condition: a member on a busy machine may need some to come up
TOKEN = "the-token"


async def eventually(
    attempt: Callable[[], Awaitable[_T]],
    accept: Callable[[_T], bool] = lambda _: True,
    *,
    within: float = PATIENCE,
) -> _T:
    """Repeat until the attempt succeeds with a result that is accepted; etcd's errors mean "not yet"."""
    last: object = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            while True:
                try:
                    last = result = await attempt()
                    if accept(result):
                        return result
                except EtcdError as error:
                    last = error
                await asyncio.sleep(0.05)
    raise AssertionError(f"not within {within} s; the last was {last!r}")


async def on_each(
    clusters: Iterable[LocalCluster], body: Callable[[LocalCluster], Coroutine[Any, Any, None]]
) -> None:
    """Run a test's body on several clusters at once; a failure says on which."""

    async def one(cluster: LocalCluster) -> None:
        try:
            await body(cluster)
        except BaseException as error:
            error.add_note(f"on etcd {cluster.version}")
            raise

    async with asyncio.TaskGroup() as group:
        for cluster in clusters:
            group.create_task(one(cluster))


@dataclass
class LocalCluster:
    """Members by name. ``make`` makes a process that is stopped at the end of the test, whatever happens."""

    version: str
    folder: Path
    dialer: Dialer
    members: dict[str, Process] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)  # of members that are made from now on

    def make(self, name: str, **options: Any) -> Process:
        """Make a member that does not run yet; ``options`` are those of Process."""
        folder = self.folder / name
        process = Process(name=name, version=self.version, folder=folder, settings=self.settings, **options)
        self.members[name] = process
        return process

    async def found(self, size: int) -> Identity:
        """Bootstrap statically and wait until every member knows a leader."""
        for index in range(size):
            self.make(f"m{index}")
        cluster = {name: process.peer_url for name, process in self.members.items()}
        for process in self.members.values():
            process.start(cluster=cluster, token=TOKEN)
        for name in cluster:
            await self.serving(name)
        return bootstrap(cluster, token=TOKEN)

    async def serving(self, name: str) -> Status:
        """Wait until a member is in a cluster with a leader."""
        return await eventually(lambda: self.status(name), lambda status: status.leader != 0)

    async def status(self, name: str) -> Status:
        async with self.client(name) as client:
            return await client.status(deadline=DEADLINE)

    async def listed(self, name: str) -> MemberList:
        async with self.client(name) as client:
            return await client.member_list(deadline=DEADLINE)

    @contextlib.asynccontextmanager
    async def client(self, name: str) -> AsyncIterator[Client]:
        async with self.dialer.dial(self.members[name].endpoint) as client:
            yield client

    @contextlib.asynccontextmanager
    async def confirmed(self, name: str) -> AsyncIterator[Client]:
        """A client that may change the membership: its identity is what the member says it is."""
        async with self.client(name) as client:
            header = (await client.status(deadline=DEADLINE)).header
            await client.expect(cluster_id=header.cluster_id, member_id=header.member_id, deadline=DEADLINE)
            yield client

    async def leader(self) -> str:
        """The name of the leader."""
        for name in self.members:
            if (await self.serving(name)).is_leader:
                return name
        raise AssertionError("no member leads")

    def close(self) -> None:
        for process in self.members.values():
            process.stop(signal.SIGKILL)
