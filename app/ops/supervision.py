"""Keep a task running that must never end.

A watcher or worker that ends, for whatever reason, leaves a process that looks healthy and does nothing
(kopf#1276, #1145, #787). Here its end is logged and counted, and it is started again; one that keeps dying
ends the process, with the reason, since a fresh process is the better place for it.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NoReturn

from app.errors import OperatorError
from app.ops.logging import get_logger
from app.ops.metrics import Metrics

log = get_logger(__name__)


class KeepsDying(OperatorError):  # noqa: N818 -- a verdict
    """A supervised task ended too often; the last failure is the cause."""


async def supervise(
    name: str,
    run: Callable[[], Awaitable[object]],
    *,
    metrics: Metrics,
    limit: int = 5,
    window: float = 300.0,
    pause: float = 1.0,
    final: tuple[type[Exception], ...] = (),
) -> NoReturn:
    """Run ``run`` for ever, starting it again whenever it ends.

    ``pause`` seconds, doubled with each end within the window and with some jitter, lie between. Raises
    ``KeepsDying`` at the ``limit``-th end within ``window`` seconds, and lets pass what is ``final``.
    """
    loop = asyncio.get_running_loop()
    ends: deque[float] = deque()
    while True:
        reason: Exception | None = None
        try:
            await run()
        except final:
            raise
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is counted and told
            reason = error
        now = loop.time()
        ends.append(now)
        while now - ends[0] > window:
            ends.popleft()
        metrics.task_restarts.labels(name).inc()
        log.error("Task ended", task=name, times=len(ends), within=window, exc_info=reason)
        if len(ends) >= limit:
            text = f"{name} ended {len(ends)} times within {window:.0f} s, last: {reason or 'it returned'}"
            raise KeepsDying(text) from reason
        await asyncio.sleep(pause * 2 ** (len(ends) - 1) * (1 + random.random() / 2))  # noqa: S311 -- jitter
