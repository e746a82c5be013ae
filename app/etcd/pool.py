"""Few connections for many clusters.

A settled cluster is watched over the metrics port and needs no gRPC at all; when something is up, a worker
makes a handful of calls to a handful of members and is done. So a channel is opened when it is asked for,
stays for a while in case the next reconcile wants it, and is closed when idle. The number of open channels is
bounded: at the bound the longest idle one gives way, and if none is idle the caller waits.

A channel that is not connected when it comes back is closed at once, so that nobody inherits its back-off.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from app.etcd.channel import open_channel
from app.etcd.errors import Unreachable
from app.etcd.grpc_client import GrpcClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from app.etcd.client import Client
    from app.etcd.endpoint import Endpoint


@dataclass(slots=True, eq=False)
class _Line:
    channel: grpc.aio.Channel
    users: int = 0
    timer: asyncio.TimerHandle | None = None


class Pool:
    """A ``Dialer`` over gRPC: at most ``limit`` channels, each closed ``idle_seconds`` after its last use."""

    def __init__(
        self,
        *,
        limit: int = 64,
        idle_seconds: float = 20.0,
        opener: Callable[[Endpoint], grpc.aio.Channel] = open_channel,
    ) -> None:
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._opener = opener
        self._lines: dict[Endpoint, _Line] = {}  # in the order of their last use
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._lines)

    @contextlib.asynccontextmanager
    async def dial(self, endpoint: Endpoint) -> AsyncIterator[Client]:
        """Borrow a client; raises Unreachable once the pool is closed."""
        line = await self._take(endpoint)
        try:
            yield GrpcClient(line.channel, str(endpoint))
        finally:
            self._give_back(endpoint, line)

    async def close(self) -> None:
        """Close every channel; a call that is still under way ends with ConnectionLost."""
        self._closed = True
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        for endpoint in list(self._lines):
            self._drop(endpoint)
        while self._closing:
            await asyncio.gather(*self._closing)

    async def _take(self, endpoint: Endpoint) -> _Line:
        while not self._closed:
            line = self._lines.pop(endpoint, None)
            if line is None and (len(self._lines) < self._limit or self._drop_idle()):
                line = _Line(self._opener(endpoint))
            if line is not None:
                self._lines[endpoint] = line
                line.users += 1
                if line.timer is not None:
                    line.timer.cancel()
                    line.timer = None
                return line
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()
                raise
        raise Unreachable(f"{endpoint}: the connections are closed")

    def _give_back(self, endpoint: Endpoint, line: _Line) -> None:
        line.users -= 1
        if line.users or self._lines.get(endpoint) is not line:
            return
        if line.channel.get_state() is grpc.ChannelConnectivity.READY:
            loop = asyncio.get_running_loop()
            line.timer = loop.call_later(self._idle_seconds, self._drop, endpoint)
        else:
            self._drop(endpoint)
        self._wake_one()

    def _drop_idle(self) -> bool:
        idle = next((endpoint for endpoint, line in self._lines.items() if not line.users), None)
        if idle is None:
            return False
        self._drop(idle)
        return True

    def _drop(self, endpoint: Endpoint) -> None:
        line = self._lines.pop(endpoint)
        if line.timer is not None:
            line.timer.cancel()
        task = asyncio.ensure_future(line.channel.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def _wake_one(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
