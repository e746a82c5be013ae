"""The short way of nearly every review: it is answered from within the event that brings it.

An API server sends a review in the plain form that Go's client writes, and then waits for the answer. For
such a request a parser, a stream, two tasks and a response object cost more than all the rules together. So
a request with no header but those that such clients send is answered as soon as its body is whole.

Everything else is aiohttp's: chunks, compression, `Expect`, an unknown header, pipelining, a long body, one
that lingers, an error of any kind. With the first such request aiohttp takes over the whole connection, as if
it had been its own from the start; so neither has to know what the other is doing.
"""

import asyncio
import re
import time
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final, Protocol, cast

from webhooks.review import Reply

LONGEST: Final = 64 * 1024
"""Bytes; bigger reviews are judged in a thread, which is aiohttp's way too."""

PATIENCE: Final = 0.5
"""Seconds for the rest of a body; a slower one is awaited by aiohttp, which minds the request's timeout."""

_LONGEST_HEAD: Final = 2048
"""Bytes of a head that is remembered."""

_REQUEST_LINE: Final = re.compile(rb"POST (/[A-Za-z0-9/_-]*)(?:\?timeout=[0-9a-z.]+)? HTTP/1\.1")
_LENGTH: Final = re.compile(rb"[0-9]{1,7}")
_HARMLESS: Final = frozenset(
    (b"host", b"user-agent", b"accept", b"accept-encoding", b"traceparent", b"tracestate", b"baggage")
)
"""Headers, besides those of the content, that change nothing about what is answered or how."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a plain request says before its body."""

    path: str
    length: int


@lru_cache(maxsize=256)
def read_head(head: bytes) -> Head | None:
    """Read request line and headers, without the empty line; None for all that isn't plain.

    A client's heads differ by the content's length alone, hence the memory.
    """
    line, *rest = head.split(b"\r\n")
    asked = _REQUEST_LINE.fullmatch(line)
    fields: dict[bytes, bytes] = {}
    for one in rest:
        name, _, value = one.partition(b":")
        fields[name.lower()] = value.strip(b" \t")
    length = fields.pop(b"content-length", b"")
    content = fields.pop(b"content-type", b"")
    plain = len(fields) == len(rest) - 2 and fields.keys() <= _HARMLESS and b"host" in fields
    if asked is None or not plain or content != b"application/json" or not _LENGTH.fullmatch(length):
        return None
    return Head(asked[1].decode(), int(length))


def split(data: bytes) -> tuple[Head, bytes] | None:
    """The head of one plain request and what is there of its body; None if it is anything else."""
    end = data.find(b"\r\n\r\n", 0, _LONGEST_HEAD)
    head = read_head(data[:end]) if end > 0 else None
    if head is None or head.length > LONGEST or len(data) > end + 4 + head.length:
        return None
    return head, data[end + 4 :]


def write(reply: Reply) -> bytes:
    """The response as it travels."""
    return b"%b%d\r\n\r\n%b" % (_beginning(reply.status, int(time.time())), len(reply.body), reply.body)


@lru_cache(maxsize=8)
def _beginning(code: int, second: int) -> bytes:
    status = HTTPStatus(code)
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Content-Type: application/json\r\n"
        f"Date: {formatdate(second, usegmt=True)}\r\n"
        "Content-Length: "
    ).encode()


class Owner(Protocol):
    """Whoever has the connections."""

    def at_once(self, path: str, body: bytes) -> Reply | None:
        """Answer a body that was posted to a path, or leave it to the long way."""

    def long_way(self) -> asyncio.Protocol:
        """Make aiohttp's protocol."""

    def came(self, connection: "Connection") -> None:
        """A connection is open, and not aiohttp's."""

    def went(self, connection: "Connection") -> None:
        """It is closed, or aiohttp's."""


class Connection(asyncio.Protocol):
    """A connection that answers plain requests at once, until aiohttp has to take it over.

    One that brings nothing for `idle` seconds is closed.
    """

    __slots__ = ("_begun", "_idle", "_loop", "_owner", "_patience", "_timer", "_transport", "_used")

    def __init__(self, owner: Owner, *, idle: float) -> None:
        self._owner = owner
        self._idle = idle
        self._loop = asyncio.get_running_loop()
        self._used = self._loop.time()
        self._begun = b""
        """A plain request whose body is not whole yet."""
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        # uvloop's has the methods and not the type.
        self._transport = cast("asyncio.Transport", transport)
        self._timer = self._loop.call_later(self._idle, self._close_if_idle)
        self._owner.came(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """It has gone."""
        self._forget()

    def data_received(self, data: bytes) -> None:
        """Answer what is plain and whole, and leave the rest to aiohttp."""
        if self._begun:
            data = self._begun + data
        request = split(data)
        reply = None
        if request is not None:
            head, body = request
            if len(body) < head.length:
                self._await_rest(data)
                return
            reply = self._owner.at_once(head.path, body)
        if reply is None:
            self._begun = data
            self.hand_over()
            return
        if self._begun:
            self._begun = b""
            self._lose_patience()
        self._used = self._loop.time()
        self._transport.write(write(reply))

    def pause_writing(self) -> None:
        """Read nothing as long as the client reads nothing."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on."""
        self._transport.resume_reading()

    def close(self) -> None:
        """Close it, with TLS's farewell; nothing is under way but what has not come whole."""
        self._transport.close()

    def abort(self) -> None:
        """Cut it off."""
        self._transport.abort()

    def hand_over(self) -> None:
        """Let aiohttp have the connection, with what has been read and not answered."""
        self._forget()
        protocol = self._owner.long_way()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        if self._begun:
            protocol.data_received(self._begun)

    def _await_rest(self, data: bytes) -> None:
        self._begun = data
        if self._patience is None:
            self._patience = self._loop.call_later(PATIENCE, self.hand_over)

    def _close_if_idle(self) -> None:
        left = self._used + self._idle - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._close_if_idle)
        else:
            self._transport.close()

    def _lose_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _forget(self) -> None:
        self._owner.went(self)
        self._timer.cancel()
        self._lose_patience()
