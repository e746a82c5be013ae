"""Cut a stream of chunks into lines.

A watch sends one JSON document a line. An object may take 1.5 MB (etcd's limit for a request) and comes in
many chunks, more than the read buffer of an HTTP client holds, so a ``readline`` with a limit would fail.
"""

from app.kube.errors import Undecodable

LIMIT = 64 * 1024 * 1024
"""Bytes in one line beyond which something other than an API server is talking."""


class LineSplitter:
    """Takes chunks and gives lines, keeping the part of a line that has no end yet.

    What is kept when the stream ends is half an event, which the next watch brings again.
    """

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that ``chunk`` completes, without their ends and without blank ones.

        Raises ``Undecodable`` for a line of more bytes than the limit.
        """
        *ends, rest = chunk.split(b"\n")
        complete: list[bytes] = []
        for end in ends:
            # Joined once, when the line is complete: to append chunk by chunk would copy it each time.
            line = b"".join((*self._pieces, end)) if self._pieces else end
            self._pieces.clear()
            self._size = 0
            if line:
                complete.append(line)
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                raise Undecodable(f"A line has more than {self._limit} bytes")
        return complete
