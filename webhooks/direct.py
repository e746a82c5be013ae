"""The short way of nearly every review: it is answered from within the event that brings it.

An API server sends a small review in one piece, in the plain form that Go's client writes, and then waits for
the answer. For such a request a parser, a stream, two tasks and a response object cost more than all the
rules together. So a request that has come whole, from between two requests, with no header but those that
such clients send, is answered at once.

Everything else goes aiohttp's way: a body in several pieces, chunks, compression, `Expect`, an unknown
header, pipelining, an error of any kind. So does the first request of each connection, after which aiohttp
minds how long the connection may idle.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from aiohttp.helpers import rfc822_formatted_time
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_server import Server

from webhooks.review import Reply

AtOnce: TypeAlias = Callable[[str, bytes], Reply | None]
"""Answers a body that was posted to a path, or leaves it to the long way."""

LONGEST: Final = 64 * 1024
"""Bytes; bigger reviews are judged in a thread, which is aiohttp's way too."""

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


def split(data: bytes) -> tuple[str, bytes] | None:
    """The path and the body, if this is exactly one plain request; None if it is anything else."""
    end = data.find(b"\r\n\r\n", 0, _LONGEST_HEAD)
    head = read_head(data[:end]) if end > 0 else None
    if head is None or len(data) != end + 4 + head.length or head.length > LONGEST:
        return None
    return head.path, data[end + 4 :]


def write(reply: Reply) -> bytes:
    """The response as it travels."""
    status = HTTPStatus(reply.status)
    return (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(reply.body)}\r\n"
        f"Date: {rfc822_formatted_time()}\r\n\r\n"
    ).encode() + reply.body


class Connection(RequestHandler):
    """A connection that answers plain requests by `at_once`."""

    __slots__ = ("_at_once", "_between")

    def __init__(
        self, manager: Server, *, loop: asyncio.AbstractEventLoop, at_once: AtOnce, **settings: Any
    ) -> None:
        super().__init__(manager, loop=loop, **settings)
        self._at_once = at_once
        self._between = True
        """Whether the parser has seen whole requests only, so that the next byte begins another."""

    def data_received(self, data: bytes) -> None:
        """Answer what is plain, and leave the rest to aiohttp."""
        request = split(data) if self._between else None
        if request is not None and self._idle():
            reply = self._at_once(*request)
            if reply is not None and self.transport is not None:
                self.transport.write(write(reply))
                self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
                return
        if data:  # without any, aiohttp calls it itself, to go on with what it has put aside
            self._between = request is not None
        super().data_received(data)

    def _idle(self) -> bool:
        """Whether aiohttp waits for a request, with the clock for idle connections running."""
        return (
            self._waiter is not None
            and not self._waiter.done()
            and self._keepalive_handle is not None
            and not (self._messages or self._paused or self._close or self._force_close)
        )
