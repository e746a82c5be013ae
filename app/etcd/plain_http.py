"""One GET over a connection of its own: what a look at a metrics port needs of HTTP, and no more.

Thousands of members are asked each few seconds. A general client takes three times the processor time for
that, and a kept connection to each member would be a descriptor and some KiB for each.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, cast

from app.etcd.endpoint import authority
from app.etcd.errors import ConnectionLost, DeadlineExceeded, Malformed, Unreachable

LIMIT: Final = 8 * 1024 * 1024
"""Bytes of an answer beyond which something other than etcd is talking."""

_END_OF_HEAD: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Page:
    """An answer: the status and the body."""

    status: int
    body: bytes


async def get(host: str, port: int, path: str, *, deadline: float) -> Page:
    """Ask once; ``deadline`` is in seconds and covers all of it.

    Raises ``Unreachable`` where no connection is made, ``ConnectionLost`` where it ends before the answer
    does, ``DeadlineExceeded``, and ``Malformed`` where the answer isn't HTTP's or is too long.
    """
    url = f"http://{authority(host, port)}{path}"
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(deadline):
            transport, exchange = await loop.create_connection(lambda: _Exchange(host, path), host, port)
            try:
                answer = await exchange.answer
            finally:
                transport.abort()
    except TimeoutError as error:
        raise DeadlineExceeded(f"{url}: no answer in {deadline:g} s") from error
    except OSError as error:
        raise Unreachable(f"{url}: {error}") from error
    return _parse(answer, url)


class _Exchange(asyncio.Protocol):
    """Sends the request, and gathers what comes back until there is no more."""

    def __init__(self, host: str, path: str) -> None:
        # In version 1.0 the answer comes in one piece, and its end is the connection's.
        self._request = f"GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        self._said = bytearray()
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.WriteTransport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        self._said += data
        if len(self._said) > LIMIT:
            self._end()

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # whether what came is whole is told by its length
        self._end()

    def _end(self) -> None:
        if not self.answer.done():
            self.answer.set_result(bytes(self._said))


def _parse(answer: bytes, url: str) -> Page:
    head, end, body = answer.partition(_END_OF_HEAD)
    if not end or not head.startswith(b"HTTP/1."):
        raise ConnectionLost(f"{url}: the connection ended without an answer")
    if len(answer) > LIMIT:
        raise Malformed(f"{url}: the answer has more than {LIMIT} bytes")
    first, *lines = head.split(b"\r\n")
    try:
        status = int(first.split()[1])
        for line in lines:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length" and int(value) != len(body):
                raise ConnectionLost(f"{url}: the connection ended within the answer")
    except (IndexError, ValueError) as error:
        raise Malformed(f"{url}: not an answer of HTTP") from error
    return Page(status, body)
