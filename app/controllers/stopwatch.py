"""How long this process has seen something, by cluster: what deadlines are counted from.

The clock is this process's own monotonic one, and it starts at the process's own first observation. A
takeover starts it anew, and a clock that is set does not move it.
"""

import time
from collections.abc import Callable, Iterable, Mapping


class Stopwatch:
    """Times symptoms for as long as they are seen without a break."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: dict[str, dict[str, float]] = {}

    def time(self, key: str, symptoms: Iterable[str]) -> Mapping[str, float]:
        """Note what is seen of a cluster now; returns the age of each symptom in seconds."""
        now = self._clock()
        before = self._since.get(key, {})
        since = {symptom: before.get(symptom, now) for symptom in symptoms}
        if since:
            self._since[key] = since
        else:
            self._since.pop(key, None)
        return {symptom: now - first for symptom, first in since.items()}

    def forget(self, key: str) -> None:
        """Forget a cluster that is gone."""
        self._since.pop(key, None)

    def restart(self) -> None:
        """Forget everything: another process may have led meanwhile."""
        self._since.clear()
