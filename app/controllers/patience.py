"""How long the Pod of a member that keeps ending is left alone, on this process's monotonic clock.

A Pod that always ends at once (an admission rule, an eviction, a full disk) must not make a hot loop of
deleting and creating (cozystack/etcd-operator#372). The first is made anew at once, each further one after
twice the wait; a member that has been ready in between starts from the beginning.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.kube.backoff import delay

BASE_SECONDS = 1.0
CAP_SECONDS = 300.0


@dataclass(slots=True)
class _Attempts:
    count: int = 0
    free_at: float = 0.0


class Patience:
    """Waits by cluster key and member."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._clusters: dict[str, dict[str, _Attempts]] = {}

    def waits(self, key: str) -> dict[str, float]:
        """The seconds that each member of a cluster still has to wait; members that need not are left out."""
        now = self._clock()
        attempts = self._clusters.get(key, {})
        return {name: one.free_at - now for name, one in attempts.items() if one.free_at > now}

    def tried(self, key: str, member: str) -> None:
        """Note that a Pod of a member that had ended was deleted to be made anew."""
        attempts = self._clusters.setdefault(key, {}).setdefault(member, _Attempts())
        attempts.free_at = self._clock() + delay(attempts.count, base=BASE_SECONDS, cap=CAP_SECONDS)
        attempts.count += 1

    def ready(self, key: str, members: Iterable[str]) -> None:
        """Note the members that are ready: their earlier ends count no more."""
        attempts = self._clusters.get(key)
        if attempts is None:
            return
        for member in members:
            attempts.pop(member, None)
        if not attempts:
            del self._clusters[key]

    def forget(self, key: str) -> None:
        """Forget a cluster that is gone."""
        self._clusters.pop(key, None)
