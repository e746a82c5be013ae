"""A cache that follows the API server: list once, then watch, for ever.

The contract, as client-go's: every object that exists is in the store once ``synced`` is set; every change
reaches the subscribers, though several may come as one; a deletion is never missed, since a list that
replaces the store tells of what vanished; and the store never goes back in time while a watch lives.

    list (or a watch that begins with all objects) ── version ──> watch ──┐
      ^                                                   ^               │ its end, a break, silence:
      └──────────── 410 Gone: replace the store           └───────────────┘ on from the last version
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from enum import Enum
from typing import Generic, NoReturn, TypeVar

from app.kube.api import Api
from app.kube.cache import Indexer, Store
from app.kube.errors import Expired, Forbidden, Invalid, KubeError
from app.kube.objects import Object
from app.kube.reopening import Reopening
from app.kube.resources import Resource
from app.kube.versions import is_older, reached
from app.kube.watching import DEFAULT, Event, Source, Tuning, Turns
from app.ops.logging import get_logger
from app.ops.metrics import Metrics

log = get_logger(__name__)

T = TypeVar("T", bound=Object)

Handler = Callable[[T | None, T | None], None]
"""Called with the old and the new object; one of them is None for an addition or a deletion."""


class _Initial(Enum):
    """How the first objects are had."""

    STREAM = "a watch that brings them, which the server decodes and sends one by one"
    LIST = "pages of a list, from a server that can't do the former"


class Informer(Generic[T]):
    """Keeps ``store`` equal to a part of a resource. ``run`` is to be supervised."""

    def __init__(
        self,
        api: Api,
        resource: Resource[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        indexers: Mapping[str, Indexer[T]] | None = None,
        tuning: Tuning = DEFAULT,
        metrics: Metrics,
    ) -> None:
        """Follow ``resource`` in one ``namespace``, or in all, as far as the selectors match."""
        self.resource = resource
        self.store: Store[T] = Store(indexers)
        self.synced = asyncio.Event()
        self._source = Source(
            api,
            resource,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            known=self.store.get,
            tuning=tuning,
            metrics=metrics,
        )
        self._metrics = metrics
        self._handlers: list[Handler[T]] = []
        self._waiters: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self._initial = _Initial.STREAM
        self._version = ""
        self._list_version = "0"
        self._reopening = Reopening(base=tuning.backoff_base, cap=tuning.backoff_cap)
        metrics.watch_age.labels(resource.plural).set_function(
            lambda: time.monotonic() - self._source.last_byte
        )
        metrics.cached.labels(resource.plural).set_function(lambda: len(self.store))

    @property
    def version(self) -> str:
        """The resourceVersion up to which the store is current, "" before the first list."""
        return self._version

    def subscribe(self, handler: Handler[T]) -> None:
        """Call ``handler(old, new)`` for each object there is now, and then for each change.

        It runs between two steps of the loop and must be quick: put a key into a queue.
        """
        self._handlers.append(handler)
        for obj in self.store.values():
            self._tell_one(handler, None, obj)

    async def saw(self, version: str) -> None:
        """Wait until the store is as new as ``version``, one of this resource's versions. Unbounded."""
        await self._until(lambda: reached(self._version, version))

    async def saw_gone(self, key: str, uid: str) -> None:
        """Wait until the object with ``uid`` is gone from the store, or is on its way. Unbounded."""

        def gone() -> bool:
            obj = self.store.get(key)
            return obj is None or obj.metadata.uid != uid or obj.metadata.deletion_timestamp is not None

        await self._until(gone)

    async def _until(self, condition: Callable[[], bool]) -> None:
        if condition():
            return
        waiter = (condition, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            await waiter[1]
        finally:
            self._waiters.remove(waiter)

    async def run(self) -> NoReturn:
        """Follow the resource until cancelled. Failures of the API server don't end it."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                await self._once()
                cause = "end"
                error: KubeError | None = None
            except Expired as expired:
                self._expire()
                cause, error = "expired", expired
            except KubeError as failed:
                cause, error = type(failed).__name__, failed
            self._metrics.watch_restarts.labels(self.resource.plural, cause).inc()
            await self._pause(error, lived=loop.time() - began)

    async def _pause(self, error: KubeError | None, *, lived: float) -> None:
        wait = self._reopening.wait(error, lived=lived)
        if error is None and not wait:
            return
        log.info(
            "Watch ended, will open it again",
            resource=self.resource.plural,
            seconds=round(wait, 1),
            error=error or "it ended at once",
        )
        await asyncio.sleep(wait)

    def _expire(self) -> None:
        """Begin anew, and from the newest: what the server has at hand may be as old as what expired."""
        self._list_version = ""
        self._version = ""

    async def _once(self) -> None:
        """Go on from where the store is, until the watch ends."""
        if not self._version:
            if self._initial is _Initial.STREAM:
                try:
                    async with self._source.watch("", initial=True) as events:
                        await self._fill_from(events)
                        await self._follow(events)
                except (Invalid, Forbidden) as refused:
                    if self._version:
                        raise
                    log.info(
                        "The server does not stream lists, will page",
                        resource=self.resource.plural,
                        error=refused,
                    )
                    self._initial = _Initial.LIST
                else:
                    return
            await self._replace(*await self._source.list(self._list_version))
        async with self._source.watch(self._version) as events:
            await self._follow(events)

    async def _fill_from(self, events: AsyncIterator[Event[T]]) -> None:
        """Take the objects that a streamed list brings, up to the bookmark that ends it."""
        found: list[T] = []
        async for event in events:
            if event.type == "BOOKMARK":
                if event.initial_end:
                    await self._replace(event.resource_version, found)
                    return
            elif event.obj is not None:
                found.append(event.obj)

    async def _follow(self, events: AsyncIterator[Event[T]]) -> None:
        async for event in events:
            self._metrics.watch_events.labels(self.resource.plural, event.type).inc()
            if event.obj is not None:
                self._take(event, event.obj)
            if event.resource_version:
                self._advance(event.resource_version)

    def _take(self, event: Event[T], obj: T) -> None:
        if event.type == "DELETED":
            old = self.store.remove(obj.metadata.key)
            if old is not None:
                self._tell(old, None)
            return
        known = self.store.get(obj.metadata.key)
        if known is not None and is_older(obj.metadata, known.metadata):
            return
        self._tell(self.store.put(obj), obj)

    async def _replace(self, version: str, objects: list[T]) -> None:
        """Make the store equal to a list, telling of each difference, deletions first.

        Others get turns in between, as they would between the events of a watch. If it is cut short, the
        version isn't set and the next run begins with a list again.
        """
        self._metrics.relists.labels(self.resource.plural).inc()
        turns = Turns()
        keys = {obj.metadata.key for obj in objects}
        for key in self.store:
            if key not in keys:
                self._tell(self.store.remove(key), None)
                await turns.offer()
        for obj in objects:
            if self.store.get(obj.metadata.key) is not obj:
                old = self.store.put(obj)
                if old is None or old.metadata.resource_version != obj.metadata.resource_version:
                    self._tell(old, obj)
            await turns.offer()
        self._advance(version)
        self.synced.set()

    def _advance(self, version: str) -> None:
        self._version = version
        for condition, future in self._waiters:
            if not future.done() and condition():
                future.set_result(None)

    def _tell(self, old: T | None, new: T | None) -> None:
        for handler in self._handlers:
            self._tell_one(handler, old, new)

    def _tell_one(self, handler: Handler[T], old: T | None, new: T | None) -> None:
        try:
            handler(old, new)
        except Exception:
            # A fault in one subscriber must not cost the others, nor the cache, an event.
            log.exception("Event handler failed", resource=self.resource.plural)
