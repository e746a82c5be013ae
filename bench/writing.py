"""The longest time between two writes that a cluster takes, from clients at every member."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from app.etcd.client import Dialer
from app.etcd.endpoint import Endpoint
from app.etcd.errors import EtcdError

DEADLINE_SECONDS = 1.0
PAUSE_SECONDS = 0.01
KEY = b"written"


class Writers:
    """One writer for each address that there is, as long as there is it."""

    def __init__(self, dialer: Dialer, addresses: Callable[[], Iterable[str]]) -> None:
        self._dialer = dialer
        self._addresses = addresses
        self._writing: dict[str, asyncio.Task[None]] = {}
        self._taken: list[float] = []
        self._begun = asyncio.Event()

    def longest_gap(self) -> float:
        """The longest time from one write that was taken until the next or until now, in seconds."""
        moments = [*sorted(self._taken), time.perf_counter()]
        return max(after - before for before, after in itertools.pairwise(moments))

    @asynccontextmanager
    async def writing(self) -> AsyncIterator["Writers"]:
        """Write for the length of the block, which begins when a write was taken."""
        following = asyncio.create_task(self._follow())
        try:
            async with asyncio.timeout(30):
                await self._begun.wait()
            yield self
        finally:
            tasks = [following, *self._writing.values()]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _follow(self) -> None:
        while True:
            now = set(self._addresses())
            for address in now - self._writing.keys():
                self._writing[address] = asyncio.create_task(self._write(address))
            for address in self._writing.keys() - now:
                self._writing.pop(address).cancel()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _write(self, address: str) -> None:
        while True:
            try:
                async with self._dialer.dial(Endpoint(address)) as client:
                    await client.put(KEY, b"", deadline=DEADLINE_SECONDS)
                self._taken.append(time.perf_counter())
                self._begun.set()
            except EtcdError:
                pass
            await asyncio.sleep(PAUSE_SECONDS)
