"""The workers: take a key, reconcile it, and see to what follows.

A reconcile returns after how many seconds it wants to be called again, or None. One that raises is tried
again after the key's own wait. It has a deadline as a whole, so that no worker is lost to a call that
forgot its own (the archived operator ended its process when one event took a minute).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import NoReturn

from app.errors import OperatorError
from app.kube.barrier import Barrier
from app.kube.errors import Conflict, KubeError, NotLeading
from app.kube.queue import LOW, NORMAL, ShutDown, WorkQueue
from app.ops.logging import bound, get_logger
from app.ops.metrics import Metrics
from app.ops.supervision import supervise

log = get_logger(__name__)

Reconcile = Callable[[str], Awaitable[float | None]]

DEADLINE_SECONDS = 60.0

RESYNC_SECONDS = 1.0
"""A key that may wait that long may wait until edits have passed it as well."""


class Workers:
    """``number`` workers for one queue."""

    def __init__(
        self,
        queue: WorkQueue,
        reconcile: Reconcile,
        *,
        controller: str,
        number: int,
        metrics: Metrics,
        barrier: Barrier | None = None,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        """Describe them; ``controller`` names them in metrics and logs, ``deadline`` is in seconds."""
        self._queue = queue
        self._reconcile = reconcile
        self._controller = controller
        self._number = number
        self._metrics = metrics
        self._barrier = barrier or Barrier()
        self._deadline = deadline
        self._ids = count(1)
        self._active = metrics.active_workers.labels(controller)
        self._errors = metrics.reconcile_errors.labels(controller)
        self._time = metrics.reconcile_time.labels(controller)
        metrics.max_workers.labels(controller).set(number)

    async def run(self) -> None:
        """Work until cancelled, or until the queue is shut down; no worker is left then."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._number):
                group.create_task(self._supervised(), name=f"{self._controller} worker {number}")

    async def _supervised(self) -> None:
        with suppress(ShutDown):
            name = f"{self._controller} worker"
            await supervise(name, self._work, metrics=self._metrics, final=(ShutDown,))

    async def _work(self) -> NoReturn:
        while True:
            key = await self._queue.get()
            self._active.inc()
            try:
                with bound(controller=self._controller, key=key, reconcile=next(self._ids)):
                    await self._handle(key)
            finally:
                self._active.dec()
                self._queue.done(key)

    async def _handle(self, key: str) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._deadline):
                await self._barrier.wait(key)
                again = await self._reconcile(key)
        except Exception as error:  # noqa: BLE001 -- a key that fails, for whatever reason, is tried again
            self._failed(key, error)
        else:
            self._queue.forget(key)
            result = "success"
            if again is not None:
                self._queue.add_after(key, again, priority=NORMAL if again < RESYNC_SECONDS else LOW)
                result = "requeue_after"
            self._metrics.reconciles.labels(self._controller, result).inc()
        self._time.observe(time.monotonic() - began)

    def _failed(self, key: str, error: Exception) -> None:
        asked = error.retry_after if isinstance(error, KubeError) else 0
        wait = self._queue.retry(key, at_least=asked)
        self._errors.inc()
        self._metrics.reconciles.labels(self._controller, "error").inc()
        told = {"seconds": round(wait, 3), "failures": self._queue.failures(key)}
        if isinstance(error, Conflict | NotLeading):
            # Somebody else was first. Nothing is wrong; the next look will see it.
            log.info("Reconcile will be repeated", error=error, **told)
        elif isinstance(error, TimeoutError):
            log.warning("Reconcile took too long", deadline=self._deadline, **told)
        elif isinstance(error, OperatorError):
            log.warning("Reconcile failed", error=error, **told)
        else:
            log.error("Reconcile failed by a fault of the operator", exc_info=error, **told)
