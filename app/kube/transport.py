"""The edge towards the API server: bytes out, bytes in.

Everything above speaks through the ``Transport`` protocol, so that a test can put something else in its
place. Hooks are called around every request; with one that raises, or ends the process, at the k-th
call, tests prove that the operator recovers from a crash at any point.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

Query = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Request:
    """A call to the API server. ``path`` begins with a slash, ``query`` isn't quoted yet."""

    method: str
    path: str
    query: Query
    body: bytes | None = None
    content_type: str = "application/json"

    @property
    def doing(self) -> str:
        """What is asked for, in a few words, for messages."""
        return f"{self.method} {self.path}"


Stage = Literal["before", "after"]

Hook = Callable[[Stage, Request], Awaitable[None]]
"""Called before a request is sent, and after its answer came (a stream: after it opened)."""


class Transport(Protocol):
    """Who carries requests to the API server. All failures are ``KubeError``."""

    @property
    def hooks(self) -> list[Hook]:
        """What to call around every request."""

    async def request(self, request: Request, *, deadline: float) -> bytes:
        """Return the body of the answer, all within ``deadline`` seconds."""

    def stream(
        self, request: Request, *, deadline: float, silence: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open an answer without an end and give its chunks as they come.

        It must open within ``deadline`` seconds. ``silence`` seconds without a byte end it with
        ``DeadlineExceeded``; a broken connection with ``Unreachable``; the server's end ends the iteration.
        """
