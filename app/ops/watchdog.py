"""Find what blocks the event loop.

While one step of the loop takes a second, nothing else happens: no probe is answered, no lease renewed. A
thread looks whether the loop still turns and, where it doesn't, logs the stack of the loop's thread, which
shows the call that blocks.
"""

import asyncio
import sys
import threading
import time
import traceback
from typing import Self

from app.ops.logging import get_logger

log = get_logger(__name__)


class Watchdog:
    """Watches the running loop while it is entered (``async with``)."""

    def __init__(self, *, patience: float = 1.0) -> None:
        """Make one that speaks up after ``patience`` seconds."""
        self._patience = patience
        self._beat = time.monotonic()
        self._stop = threading.Event()
        self._task: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None

    async def __aenter__(self) -> Self:
        self._beat = time.monotonic()
        self._task = asyncio.create_task(self._turn(), name="watchdog")
        loop_thread = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, args=(loop_thread,), name="watchdog", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop.set()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._thread is not None:
            # It sleeps on the event that is set, so this is no wait.
            self._thread.join()

    async def _turn(self) -> None:
        while True:
            self._beat = time.monotonic()
            await asyncio.sleep(self._patience / 4)

    def _watch(self, loop_thread: int) -> None:
        told = 0.0
        while not self._stop.wait(self._patience / 2):
            beat = self._beat
            blocked = time.monotonic() - beat
            if blocked > self._patience and beat != told:
                told = beat
                frame = sys._current_frames().get(loop_thread)  # noqa: SLF001 -- the documented way, name and all
                stack = "".join(traceback.format_stack(frame)) if frame else "unknown"
                log.error("The event loop is blocked", seconds=round(blocked, 1), stack=stack)
