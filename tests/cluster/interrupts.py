"""Cleaning up without being interrupted by the impatient second Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ignored() -> Iterator[None]:
    """Ignore interrupts meanwhile; only the main thread, which is the one to get them, can do this."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
