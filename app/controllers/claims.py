"""Keeps two operators off one cluster: see `app.plan.claiming`.

The other one's claim is not written over, nor is anything else of the status, which is the other's to write:
an event, a metric and a line of the log say that the cluster is left alone.
"""

from collections.abc import Callable
from datetime import datetime

from app.api.status import Claim, ClusterStatus
from app.controllers.stopwatch import Stopwatch
from app.kube.events import Recorder, Reference
from app.observe.locks import Locks
from app.ops.logging import get_logger
from app.ops.metrics import Metrics
from app.plan.claiming import Claimant, claimed, rival, sign_of_life, told

log = get_logger(__name__)


class Claims:
    """Claims clusters for one operator."""

    def __init__(
        self, me: Claimant, locks: Locks, recorder: Recorder, *, metrics: Metrics, now: Callable[[], datetime]
    ) -> None:
        self._me = me
        self._locks = locks
        self._recorder = recorder
        self._gauge = metrics.clusters_of_others
        self._now = now
        self._stopwatch = Stopwatch()
        self._others: dict[str, str] = {}

    def restart(self) -> None:
        """Begin a term: what an earlier one has timed counts no more."""
        self._stopwatch.restart()

    def forget(self, key: str) -> None:
        """Forget a cluster that is gone, or is not this operator's to take."""
        self._stopwatch.forget(key)
        self._others.pop(key, None)
        self._gauge.set(len(self._others))

    async def claimed(self, key: str, about: Reference, status: ClusterStatus) -> ClusterStatus | None:
        """The status with our claim in it, to be written before any act; None while another's claim lives."""
        other = rival(status.journal, self._me)
        if other is not None and await self._lives(key, other):
            self._tell(key, about, other)
            return None
        if other is not None:
            log.warning("Takes over a cluster whose operator is gone", cluster=key, holder=other.holder)
        self.forget(key)
        journal = claimed(status.journal, self._me, now=self._now())
        return status.model_copy(update={"journal": journal})

    def released(self, status: ClusterStatus) -> ClusterStatus | None:
        """The status without a claim of ours; None where there is none to give up."""
        claim = status.journal.claim
        if claim is None or claim.holder != self._me.holder:
            return None
        return status.model_copy(update={"journal": status.journal.model_copy(update={"claim": None})})

    async def _lives(self, key: str, other: Claim) -> bool:
        """Whether another's claim has been renewed within its duration, on our clock; unknown means yes."""
        renewal = await self._locks.renewal(other.holder)
        if renewal is None:
            self._stopwatch.forget(key)
            return True
        sign = sign_of_life(other, renewal)
        return self._stopwatch.time(key, [sign])[sign] < other.duration_seconds

    def _tell(self, key: str, about: Reference, other: Claim) -> None:
        if self._others.get(key) == other.holder:
            return
        self._others[key] = other.holder
        self._gauge.set(len(self._others))
        log.warning("Leaves a cluster to another operator", cluster=key, holder=other.holder)
        event = told(other, self._me)
        self._recorder.emit(about, event.type, event.reason, event.action, event.note)
