"""How much of the processors other programs took during a measurement.

On a machine that does something else as well, that decides a measurement more than what is measured; it can't
be prevented, but it can be told, and the measurement be made again.
"""

import os
import time
from collections.abc import Collection
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Meter:
    """Begins to measure when it is made."""

    def __init__(self, processors: Collection[int]) -> None:
        self._processors = processors
        self._before = _spent(processors)
        self._begin = time.monotonic()

    def others(self, own: float) -> float:
        """The share of the processors' time, 0 to 1, that went elsewhere than into `own`, in seconds."""
        available = (time.monotonic() - self._begin) * len(self._processors)
        return max(0.0, (_spent(self._processors) - self._before - own) / available)


def _spent(processors: Collection[int]) -> float:
    """Seconds that programs have run on these processors, interrupts left out."""
    lines = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    ticks = {fields[0]: sum(map(int, fields[1:4])) for fields in lines if fields[0].startswith("cpu")}
    return sum(ticks[f"cpu{one}"] for one in processors) / _TICKS_PER_SECOND
