"""A queue of keys, as client-go's: each key once, and never in two workers' hands at a time.

Three sets make that hold. *queued*: keys that wait for a worker. *processing*: keys a worker has. *dirty*:
keys that were added again while a worker had them; ``done`` queues them once more, so that no change is lost
and none is looked at twice at once.
(https://github.com/kubernetes/client-go/blob/master/util/workqueue/queue.go)

Failed keys come back after a wait of their own, doubled with each failure in a row from 5 ms to 1,000 s
(client-go's default), which delays neither other keys nor an edit of the same one. Floods, a start or a
resync, go in with a low priority, so that an edit passes them.
"""

import asyncio
import heapq
import random
import time
from collections.abc import Callable
from itertools import count

from app.kube.backoff import delay
from app.ops.metrics import Metrics

LOW = -100
"""The priority of what nobody waits for: resyncs, and the objects a start finds (as controller-runtime's)."""
NORMAL = 0

BASE_SECONDS = 0.005
CAP_SECONDS = 1000.0


class ShutDown(Exception):  # noqa: N818 -- an end, as StopIteration is
    """The queue was shut down: the worker may go home."""


class WorkQueue:
    """Keys that wait for workers. All in one event loop; only ``get`` waits."""

    def __init__(
        self,
        name: str,
        *,
        metrics: Metrics,
        base: float = BASE_SECONDS,
        cap: float = CAP_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make one; ``base`` and ``cap`` bound the wait after failures, in seconds."""
        self._base = base
        self._cap = cap
        self._clock = clock
        self._heap: list[tuple[int, int, str]] = []
        self._order = count()
        self._queued: dict[str, tuple[int, float]] = {}
        self._dirty: dict[str, int] = {}
        self._processing: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, int] = {}
        self._getters: set[asyncio.Future[None]] = set()
        self._shut = False
        self._adds = metrics.queue_adds.labels(name)
        self._retries = metrics.queue_retries.labels(name)
        self._wait = metrics.queue_wait.labels(name)
        self._work = metrics.queue_work.labels(name)
        metrics.queue_depth.labels(name).set_function(lambda: len(self._queued))
        metrics.queue_unfinished.labels(name).set_function(lambda: sum(self._ages()))
        metrics.queue_longest.labels(name).set_function(lambda: max(self._ages(), default=0))

    def __len__(self) -> int:
        """How many keys wait for a worker now, those with a timer not counted."""
        return len(self._queued)

    def _ages(self) -> list[float]:
        now = self._clock()
        return [now - since for since in self._processing.values()]

    def add(self, key: str, *, priority: int = NORMAL) -> None:
        """Queue a key. One that is queued stays where it is, or moves up to a higher priority."""
        if self._shut:
            return
        if key in self._processing:
            self._dirty[key] = max(priority, self._dirty.get(key, priority))
            return
        known = self._queued.get(key)
        if known is not None:
            if priority > known[0]:
                self._push(key, priority, known[1])
            return
        self._adds.inc()
        self._push(key, priority, self._clock())
        self._wake()

    def _push(self, key: str, priority: int, since: float) -> None:
        self._queued[key] = (priority, since)
        heapq.heappush(self._heap, (-priority, next(self._order), key))

    def _wake(self) -> None:
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
                return

    def add_after(self, key: str, seconds: float, *, priority: int = NORMAL) -> None:
        """Queue a key in ``seconds``. Of several such wishes for a key the earliest holds."""
        if self._shut:
            return
        if seconds <= 0:
            self.add(key, priority=priority)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + seconds
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= when:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(when, self._ripe, key, priority)

    def _ripe(self, key: str, priority: int) -> None:
        del self._timers[key]
        self.add(key, priority=priority)

    async def get(self) -> str:
        """Take the key that is next; ``done`` must follow. Raises ``ShutDown`` once there are no more."""
        while True:
            key = self._pop()
            if key is not None:
                return key
            if self._shut:
                raise ShutDown
            getter = asyncio.get_running_loop().create_future()
            self._getters.add(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    # This getter was woken for a key that it won't take: somebody else must.
                    self._getters.discard(getter)
                    self._wake()
                raise
            finally:
                self._getters.discard(getter)

    def _pop(self) -> str | None:
        while self._heap:
            negative, _, key = heapq.heappop(self._heap)
            known = self._queued.get(key)
            # A key that moved up leaves its old place in the heap behind.
            if known is not None and known[0] == -negative:
                del self._queued[key]
                now = self._clock()
                self._processing[key] = now
                self._wait.observe(now - known[1])
                return key
        return None

    def done(self, key: str) -> None:
        """Give a key back that ``get`` gave; it is queued again if it was added meanwhile."""
        self._work.observe(self._clock() - self._processing.pop(key))
        if key in self._dirty:
            self.add(key, priority=self._dirty.pop(key))

    def retry(self, key: str, *, at_least: float = 0) -> float:
        """Queue a key that failed after its own wait, and return that, in seconds; see ``at_least`` too."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._retries.inc()
        # Up to half as much again, so that keys that failed together don't come back together.
        jitter = 1 + random.random() / 2  # noqa: S311
        seconds = max(min(delay(failures, base=self._base, cap=self._cap) * jitter, self._cap), at_least)
        self.add_after(key, seconds)
        return seconds

    def failures(self, key: str) -> int:
        """Return how often in a row a key has failed."""
        return self._failures.get(key, 0)

    def forget(self, key: str) -> None:
        """Forget a key's failures: it succeeded."""
        self._failures.pop(key, None)

    def drop(self, key: str) -> None:
        """Forget all about a key whose object is gone, its timer too; what is queued stays queued."""
        self.forget(key)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def shut_down(self) -> None:
        """Take nothing more in and send the workers home; what was queued is dropped."""
        self._shut = True
        self._queued.clear()
        self._heap.clear()
        self._dirty.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
