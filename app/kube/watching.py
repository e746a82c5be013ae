"""One list and one watch of a resource, as events; the informer strings them together.

The rules are those of client-go's Reflector:
https://github.com/kubernetes/client-go/blob/master/tools/cache/reflector.go
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import msgspec

from app.kube.api import PAGE_SIZE, Api, decode, selectors
from app.kube.errors import Undecodable, error_of
from app.kube.lines import LineSplitter
from app.kube.objects import Object
from app.kube.resources import Resource
from app.ops.logging import get_logger
from app.ops.metrics import Metrics

log = get_logger(__name__)

T = TypeVar("T", bound=Object)

LIST_DEADLINE_SECONDS = 30.0
STEP_SECONDS = 0.001
"""For how long objects are decoded before others get the loop, and for how long they then have it at least.

A reconcile takes some dozens of turns of the loop, and each may have to wait for a step."""

INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Tuning:
    """Times in seconds. The defaults are for production; tests shorten them."""

    silence: float = 70.0
    """A server sends a bookmark about every minute, so a stream without a byte for longer is dead."""
    backoff_base: float = 0.8
    backoff_cap: float = 30.0
    page_size: int = PAGE_SIZE
    """Objects in a page of a list."""


DEFAULT = Tuning()

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class _Wire(msgspec.Struct, frozen=True):
    """An event as it comes; the object is decoded once its type is known."""

    type: str
    object: msgspec.Raw


class Event(msgspec.Struct, Generic[T], frozen=True):
    """A change. ``obj`` is None for a bookmark, and for an object that doesn't fit its type."""

    type: EventType
    resource_version: str
    obj: T | None = None
    initial_end: bool = False


class _HeadMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Head(msgspec.Struct, frozen=True):
    """What tells whether an object is one that is known already."""

    metadata: _HeadMetadata


_WIRE = msgspec.json.Decoder(_Wire)
_HEAD = msgspec.json.Decoder(_Head)


class Turns:
    """Gives the loop to others once a step has taken long enough, and not more often."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    async def offer(self) -> None:
        """Let others run if this step has taken long."""
        if time.monotonic() - self._since >= STEP_SECONDS:
            await asyncio.sleep(STEP_SECONDS)
            self._since = time.monotonic()


class Source(Generic[T]):
    """A part of a resource, such as the Pods of a namespace with a certain label."""

    def __init__(
        self,
        api: Api,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        known: Callable[[str], T | None] = lambda _key: None,
        tuning: Tuning,
        metrics: Metrics,
    ) -> None:
        """Describe it.

        ``known`` finds an object by its key; where a list brings it in the same version, it is not decoded
        again.
        """
        self._known = known
        self.api = api
        self.resource = resource
        self.namespace = namespace
        self.tuning = tuning
        self._selectors = selectors(labels=label_selector, fields=field_selector)
        self._undecodable = metrics.undecodable.labels(resource.plural)
        self.last_byte = time.monotonic()

    async def list(self, version: str) -> tuple[str, list[T]]:
        """Return the version of the list and its objects, read page by page.

        ``version`` is ``"0"`` for whatever the server has at hand, ``""`` for the newest, else a version the
        list must not be older than. Raises ``Expired`` also where a later page can't be had any more.
        """
        query = self._selectors | {"limit": str(self.tuning.page_size)}
        if version:
            # The server ignores the limit for version 0, and answers from its cache.
            query |= {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}
        found: list[T] = []
        turns = Turns()
        while True:
            page = await self.api.page(
                self.resource, self.namespace, query=query, deadline=LIST_DEADLINE_SECONDS
            )
            self.last_byte = time.monotonic()
            for item in page.items or ():
                obj = self._recall(item) or self._decode(item)
                if obj is not None:
                    found.append(obj)
                await turns.offer()
            if not page.metadata.continue_:
                return page.metadata.resource_version, found
            # A continue token carries the version; both together are refused.
            query = self._selectors | {
                "limit": str(self.tuning.page_size),
                "continue": page.metadata.continue_,
            }

    @asynccontextmanager
    async def watch(self, version: str, *, initial: bool = False) -> AsyncIterator[AsyncIterator[Event[T]]]:
        """Open a watch from ``version``, or with ``initial`` one that brings all objects first.

        Iterating ends where the server ends the watch, after 5 to 10 minutes, chosen at random so that
        the watches of many clients don't come back at once. Raises ``Expired`` where there is no going on
        from ``version``, and any other ``KubeError``.
        """
        query = self._selectors | {
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(random.randint(300, 600)),  # noqa: S311 -- spreads load, guards nothing
        }
        if version:
            query["resourceVersion"] = version
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        async with self.api.watch(
            self.resource, self.namespace, query=query, silence=self.tuning.silence
        ) as chunks:
            self.last_byte = time.monotonic()
            async with aclosing(self._events(chunks, initial=initial)) as events:
                yield events

    async def _events(self, chunks: AsyncIterator[bytes], *, initial: bool) -> AsyncGenerator[Event[T], None]:
        splitter = LineSplitter()
        turns = Turns()
        async for chunk in chunks:
            self.last_byte = time.monotonic()
            for line in splitter.feed(chunk):
                event = self._event(line, initial=initial)
                initial = initial and not event.initial_end
                yield event
                await turns.offer()

    def _event(self, line: bytes, *, initial: bool) -> Event[T]:
        try:
            wire = _WIRE.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Undecodable(f"Watch of {self.resource.plural}: {error}") from error
        match wire.type:
            case "ADDED" | "MODIFIED" | "DELETED":
                obj = (self._recall(wire.object) if initial else None) or self._decode(wire.object)
                # An object that is skipped still moves the version on.
                version = decode(Object, wire.object).metadata.resource_version if obj is None else ""
                return Event(wire.type, obj.metadata.resource_version if obj else version, obj)
            case "BOOKMARK":
                meta = decode(Object, wire.object).metadata
                return Event(
                    "BOOKMARK", meta.resource_version, initial_end=meta.annotation(INITIAL_END) == "true"
                )
            case "ERROR":
                body = bytes(wire.object)
                raise error_of(_code(body), body, doing=f"Watch of {self.resource.plural}")
            case _:
                raise Undecodable(f"Watch of {self.resource.plural}: an event of type {wire.type}")

    def _recall(self, data: msgspec.Raw) -> T | None:
        """Return an object that is known in just this version; None for any other."""
        try:
            head = _HEAD.decode(data).metadata
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None  # what is wrong with it is told by decoding it
        known = self._known(f"{head.namespace}/{head.name}" if head.namespace else head.name)
        return known if known and known.metadata.resource_version == head.resource_version else None

    def _decode(self, data: msgspec.Raw) -> T | None:
        try:
            return decode(self.resource.type, data)
        except Undecodable as error:
            # One stored object that no rule of today would admit must not blind the operator to the rest.
            self._undecodable.inc()
            log.warning(
                "Skipped an object that does not fit its type", resource=self.resource.plural, error=error
            )
            return None


class _Code(msgspec.Struct):
    code: int = 500


def _code(body: bytes) -> int:
    return msgspec.json.decode(body, type=_Code).code
