"""The cheap check that keeps the pace of settled clusters.

A whole look costs gRPC connections and a list through the quorum; a settled cluster needs neither. As long as
the caches show nothing new, each member is asked for ``/readyz`` on its metrics port, which is plain HTTP and
costs etcd one read. Anything but yes from all is a reason to look, never a reason to act.
"""

import asyncio
import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from app.etcd.errors import EtcdError
from app.etcd.probe import MetricsPort

ANSWER_SECONDS = 2.0
NOT_FOUND = 404
LOOK_SECONDS = 60.0
"""How long a cluster may go without a whole look.

What only etcd tells (sizes, the leader) is that old at most.
"""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What the caches show of a cluster: the custom resource's uid and version, and those of the rest."""

    uid: str
    version: str
    rest: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class _Settled:
    fingerprint: Fingerprint
    addresses: tuple[str, ...]
    until: float


class Pulse:
    """Remembers which clusters are settled, and feels their pulse."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._settled: dict[str, _Settled] = {}

    def settle(self, key: str, fingerprint: Fingerprint, addresses: Iterable[str]) -> None:
        """Remember that a whole look found a cluster settled, what the caches showed, where members are."""
        until = self._clock() + LOOK_SECONDS
        self._settled[key] = _Settled(fingerprint, tuple(addresses), until)

    def forget(self, key: str) -> None:
        """Forget a cluster: it changes, or is gone."""
        self._settled.pop(key, None)

    async def beats(self, key: str, fingerprint: Fingerprint) -> bool:
        """Whether a cluster is as it was when it settled, as far as the caches and its members say."""
        known = self._settled.get(key)
        if known is None or known.fingerprint != fingerprint or self._clock() >= known.until:
            return False
        return all(await asyncio.gather(*(self._ready(address) for address in known.addresses)))

    async def _ready(self, address: str) -> bool:
        port = MetricsPort(address)
        try:
            answer = await port.readyz(deadline=ANSWER_SECONDS)
            if answer.status == NOT_FOUND:  # before etcd 3.4.29 and 3.5.11
                answer = await port.health(deadline=ANSWER_SECONDS)
        except EtcdError:
            return False
        return answer.ok
