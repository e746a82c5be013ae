"""Progress on standard error: what is being done, for how long, and how long it took.

Standard output stays free for what a command is asked for (a path, a kubeconfig).
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

HEARTBEAT_SECONDS = 15.0


def say(line: str) -> None:
    """Print one line at once."""
    print(line, file=sys.stderr, flush=True)


@dataclass
class Step:
    """A piece of work under way; `detail` is shown with each sign of life and may be changed at any time."""

    what: str
    detail: str = ""


@contextmanager
def step(what: str, *, expected_seconds: float | None = None) -> Iterator[Step]:
    """Announce a piece of work, give a sign of life every 15 seconds, and say at its end how long it took."""
    begun = time.monotonic()
    current = Step(what)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(HEARTBEAT_SECONDS):
            detail = f", {current.detail}" if current.detail else ""
            say(f"  … {time.monotonic() - begun:.0f} s{detail}")

    say(what + (f" (about {_human(expected_seconds)})" if expected_seconds else ""))
    pulse = threading.Thread(target=beat, name="progress", daemon=True)
    pulse.start()
    outcome = "failed after"
    try:
        yield current
        outcome = "done in"
    finally:
        ended.set()
        pulse.join()
        say(f"  {outcome} {time.monotonic() - begun:.1f} s")


def _human(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
