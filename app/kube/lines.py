"""Cut a stream of chunks into lines.

A watch sends one JSON document a line. An object may take 1.5 MB (etcd's limit for a request) and comes in
many chunks, more than the read buffer of an HTTP client holds, so a ``readline`` with a limit would fail.
"""

from collections.abc import AsyncIterable, AsyncIterator

from app.kube.errors import Undecodable

LIMIT = 64 * 1024 * 1024
"""Bytes in one line beyond which something other than an API server is talking."""


async def lines(chunks: AsyncIterable[bytes], *, limit: int = LIMIT) -> AsyncIterator[bytes]:
    """Give each line without its end, as soon as it is complete; blank lines are left out.

    A last line without an end is dropped: its connection broke in the middle of an event, which the
    next watch will bring again. Raises ``Undecodable`` for a line of more than ``limit`` bytes.
    """
    pieces: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            whole = b"".join((*pieces, line)) if pieces else line
            pieces.clear()
            size = 0
            if whole:
                yield whole
        if rest:
            pieces.append(rest)
            size += len(rest)
            if size > limit:
                raise Undecodable(f"A watch event has more than {limit} bytes")
