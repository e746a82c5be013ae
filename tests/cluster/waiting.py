"""Waiting for a condition: how everything here waits, in place of sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.cluster.errors import HarnessError

T = TypeVar("T")


class NotInTimeError(HarnessError):
    """What was waited for didn't come."""


class HopelessError(HarnessError):
    """What is waited for can't come any more."""


def wait_until(condition: Callable[[], T], *, timeout: float, what: str, every: float = 0.1) -> T:
    """Ask every `every` seconds until `condition` returns something true, and return that.

    A `HarnessError` that the condition raises means "not yet", and its message ends up in ours if the time
    runs out. The condition is asked at least once.

    Raises:
        NotInTimeError: `timeout` seconds passed.
        HopelessError: the condition raised it (as any exception that isn't a `HarnessError` goes through).

    """
    deadline = time.monotonic() + timeout
    while True:
        why = ""
        try:
            if result := condition():
                return result
        except HopelessError:
            raise
        except HarnessError as error:
            why = f": {error}"
        if time.monotonic() >= deadline:
            raise NotInTimeError(f"Waited {timeout:g} s for {what}{why}")
        time.sleep(every)
