"""How long to wait before trying again."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """Waits that double from ``base`` to ``cap`` seconds, each made longer by up to ``jitter`` of itself.

    The jitter keeps replicas, which fail together, from coming back together.
    """

    base: float
    cap: float
    jitter: float = 0.5
    random: Callable[[], float] = random.random
    failures: int = field(default=0, init=False)

    def next(self, *, at_least: float = 0) -> float:
        """Count a failure and return the seconds to wait, no less than ``at_least``."""
        wait = delay(self.failures, base=self.base, cap=self.cap)
        self.failures += 1
        return max(wait * (1 + self.jitter * self.random()), at_least)

    def reset(self) -> None:
        """Forget the failures."""
        self.failures = 0


def delay(failures: int, *, base: float, cap: float) -> float:
    """Return ``base`` doubled ``failures`` times, at most ``cap``."""
    # 2 ** 64 of anything is beyond any cap; a larger power would only cost.
    return min(base * 2.0 ** min(failures, 64), cap)
