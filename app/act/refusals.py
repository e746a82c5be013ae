"""Claims that could not be grown, and why, on this process's monotonic clock.

Whether a StorageClass lets its volumes grow is for the API server to say (admission plugin
PersistentVolumeClaimResize); reading the class would take rights beyond a namespace. So it is tried. What was
refused is tried again after a while: somebody may have changed the class.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

RETRY_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class _Refusal:
    storage: str
    words: str
    until: float


class Refusals:
    """Refusals by cluster key and claim."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._clusters: dict[str, dict[str, _Refusal]] = {}

    def note(self, key: str, claim: str, storage: str, words: str) -> None:
        """Note that a claim may not grow to this size."""
        until = self._clock() + RETRY_SECONDS
        self._clusters.setdefault(key, {})[claim] = _Refusal(storage, words, until)

    def of(self, key: str, storage: str) -> dict[str, str]:
        """Why which claims of a cluster may not grow to this size, as far as it is not to be tried again."""
        now = self._clock()
        return {
            claim: one.words
            for claim, one in self._clusters.get(key, {}).items()
            if one.storage == storage and one.until > now
        }

    def forget(self, key: str) -> None:
        """Forget a cluster that is gone."""
        self._clusters.pop(key, None)
