"""Elect one leader among the replicas, by a Lease.

The holder writes its name and the time into the Lease every ``retry_period``. The others watch it, and take
it over once they have seen no change for a whole ``lease_duration``: by their own monotonic clock, since
the clocks of two machines differ; the times in the Lease are for people. Every write is conditional on
the version last seen, so of several that try at once the API server lets one through.
(https://github.com/kubernetes/client-go/blob/master/tools/leaderelection/leaderelection.go)

The holder counts from *before* it sent its last successful renewal, the others from when they saw it; so the
holder is first to consider the Lease run out. It stops at ``renew_deadline``: its work is cancelled, and
awaited, before it campaigns again. Nothing can recall a request that is on its way, so each write is bound
by ``remaining()`` too (see ``Api.fenced``).
"""

import asyncio
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from app.kube.api import Api
from app.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from app.kube.informer import Informer
from app.kube.objects import Lease
from app.kube.resources import LEASES
from app.kube.versions import is_older
from app.ops.logging import get_logger
from app.ops.metrics import Metrics
from app.ops.supervision import supervise

log = get_logger(__name__)

MARGIN_SECONDS = 1.0
"""How long before its Lease runs out a leader's last write has to be answered."""

RELEASE_ATTEMPTS = 3


def _boot_clock() -> float:
    """Seconds on a clock that nobody sets and that goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds; client-go's defaults."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.lease_duration > self.renew_deadline > self.retry_period > 0:
            raise ValueError("The lease duration must exceed the renew deadline, and that the retry period")

    @property
    def call(self) -> float:
        """The deadline of one call: a call that hangs leaves time for another."""
        return self.renew_deadline / 2


DEFAULT = Timing()


def identity() -> str:
    """Return a name for this process that no other has, nor this one after a restart."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def _micro_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Elector:
    """One candidate. ``run`` campaigns for ever and works while it leads."""

    def __init__(
        self,
        api: Api,
        *,
        namespace: str,
        name: str,
        identity: str,
        timing: Timing = DEFAULT,
        clock: Callable[[], float] = _boot_clock,
        metrics: Metrics,
    ) -> None:
        """Stand for the Lease ``namespace/name``; ``api`` must not be fenced."""
        self._api = api
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._timing = timing
        self._clock = clock
        self._metrics = metrics
        self._gauge = metrics.leader.labels(name)
        self._gauge.set(0)
        self._informer = Informer(
            api, LEASES, namespace=namespace, field_selector=f"metadata.name={name}", metrics=metrics
        )
        self._informer.subscribe(self._changed)
        self._seen: Lease | None = None
        self._seen_at = float("-inf")
        self._news = asyncio.Event()
        self._renewed_at = float("-inf")
        self._leading = False

    @property
    def leading(self) -> bool:
        """Whether this process may act as the leader now."""
        return self._leading and self.remaining() > 0

    @property
    def holder(self) -> str:
        """The identity of whoever holds the Lease, as far as known; "" for nobody."""
        return (self._seen.spec.holder_identity if self._seen else None) or ""

    def remaining(self) -> float:
        """For how many seconds writes are still safe; 0 or less when not leading."""
        if not self._leading or not self._holds():
            return 0.0
        return self._renewed_at + self._timing.lease_duration - MARGIN_SECONDS - self._clock()

    async def run(self, lead: Callable[[], Awaitable[object]]) -> None:
        """Campaign, run ``lead`` while leading, and so on, until cancelled or until ``lead`` ends.

        On loss ``lead`` is cancelled and awaited before anything else. When this is cancelled, or ``lead``
        ends or raises, ``lead`` is stopped first and the Lease released then, so that another can start at
        once; an exception of ``lead`` is raised on. Raises ``KeepsDying`` where the Lease can't be watched.
        """
        watch = asyncio.create_task(
            supervise(f"watch of Lease {self._name}", self._informer.run, metrics=self._metrics)
        )
        terms = asyncio.create_task(self._terms(lead), name=f"terms of Lease {self._name}")
        try:
            await asyncio.wait([watch, terms], return_when=asyncio.FIRST_COMPLETED)
        finally:
            try:
                await _stop(terms)
            finally:
                await _stop(watch)
        await (watch if terms.cancelled() else terms)

    async def _terms(self, lead: Callable[[], Awaitable[object]]) -> None:
        while True:
            await self._campaign()
            if await self._reign(lead):
                return

    async def _campaign(self) -> None:
        """Return once this process holds the Lease."""
        log.info("Stands for leader", lease=self._name, identity=self._identity)
        if self._seen is None:
            await self._look()
        while True:
            self._news.clear()
            wait = self._until_free()
            if wait <= 0:
                # An answer that comes too late, to a process that was frozen, makes no leader.
                if await self._try(self._take) and self._overdue() > 0:
                    break
                # Not free after all, or the API server can't be reached.
                wait = self._timing.retry_period
            with suppress(TimeoutError):
                # Not less than a moment: the loop's clock and the one counted on differ by a bit.
                async with asyncio.timeout(max(wait, 0.01)):
                    await self._news.wait()
        self._leading = True
        self._gauge.set(1)
        log.info("Became the leader", lease=self._name, identity=self._identity)

    def _until_free(self) -> float:
        """Return in how many seconds the Lease may be taken, as far as this process has seen."""
        if self._seen is None:
            # There never was one; or it was deleted, under a holder who may not know of it yet.
            return self._seen_at + self._timing.lease_duration - self._clock()
        spec = self._seen.spec
        if not spec.holder_identity or spec.holder_identity == self._identity:
            return 0.0
        # The holder's own promise counts, in case that it runs with other settings.
        duration = max(self._timing.lease_duration, float(spec.lease_duration_seconds or 0))
        return self._seen_at + duration - self._clock()

    async def _reign(self, lead: Callable[[], Awaitable[object]]) -> bool:
        """Lead. Return True when ``lead`` ended by itself, False when the Lease was lost."""
        work = asyncio.ensure_future(_coroutine(lead))
        renewal = asyncio.create_task(self._renew(), name=f"renewal of Lease {self._name}")
        lost = False
        try:
            await asyncio.wait([work, renewal], return_when=asyncio.FIRST_COMPLETED)
            lost = renewal.done()
            if lost:
                # From here on the fence is closed to what still runs.
                self._leading = False
                log.error("Lost the leadership", lease=self._name, identity=self._identity)
        finally:
            self._gauge.set(0)
            try:
                # The renewal goes on meanwhile, unless it was what ended: the work may need its time.
                await _stop(work)
            finally:
                await _stop(renewal)
                self._leading = False
                if not lost:
                    await self._release()
        if lost:
            return False
        await work
        return True

    async def _renew(self) -> None:
        """Renew for as long as that succeeds; return when the Lease is lost."""
        while True:
            await self._until_doubtful(self._timing.retry_period)
            while not self._held_by_other() and not await self._try(self._extend):
                left = self._overdue()
                if left <= 0:
                    return
                await asyncio.sleep(min(self._timing.retry_period, left))
            if self._held_by_other():
                return

    async def _until_doubtful(self, seconds: float) -> None:
        """Wait, but not once the watch shows that the Lease is gone, or somebody else's."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._holds():
                    self._news.clear()
                    await self._news.wait()

    def _overdue(self) -> float:
        return self._renewed_at + self._timing.renew_deadline - self._clock()

    def _holds(self) -> bool:
        return self._seen is not None and self.holder == self._identity

    def _held_by_other(self) -> bool:
        return self._seen is not None and self.holder != self._identity

    async def _try(self, step: Callable[[float], Awaitable[Lease]]) -> bool:
        """Make one attempt to write the Lease, and note its outcome."""
        sent_at = self._clock()
        try:
            deadline = self._timing.call
            if self._leading:
                deadline = min(deadline, max(self._overdue(), 0.01))
            lease = await step(deadline)
        except (Conflict, AlreadyExists, NotFound):
            await self._look()
            return False
        except KubeError as error:
            log.warning("Could not write the Lease", lease=self._name, error=error)
            return False
        self._note(lease)
        if lease.spec.holder_identity != self._identity:
            return False
        self._renewed_at = sent_at
        return True

    async def _look(self) -> None:
        """Read the Lease itself, not what a watch brings some time later."""
        try:
            lease = await self._api.get(LEASES, self._namespace, self._name, deadline=self._timing.call)
        except NotFound:
            self._vanished()
        except KubeError as error:
            log.warning("Could not read the Lease", lease=self._name, error=error)
        else:
            self._note(lease)

    def _changed(self, _old: Lease | None, new: Lease | None) -> None:
        """Take what the watch brings, unless this process knows of something newer already."""
        if new is None:
            self._vanished()
        elif self._seen is None or not is_older(new.metadata, self._seen.metadata):
            self._note(new)

    def _vanished(self) -> None:
        if self._seen is not None:
            self._seen = None
            self._seen_at = self._clock()
            self._news.set()

    def _note(self, lease: Lease) -> None:
        """Take note of the Lease, and of the time if it has changed."""
        known = self._seen.metadata.resource_version if self._seen else ""
        if lease.metadata.resource_version != known:
            self._seen = lease
            self._seen_at = self._clock()
            self._news.set()

    async def _take(self, deadline: float) -> Lease:
        """Create the Lease, or take the one seen; its version must not have changed."""
        now = _micro_time()
        seen = self._seen.spec.lease_transitions if self._seen else None
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(self._timing.lease_duration)),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0 if seen is None else seen + 1,
        }
        return await self._write(spec, deadline)

    async def _extend(self, deadline: float) -> Lease:
        if self._seen is None:
            # Somebody deleted it. Whoever creates it next holds it, and that is best done by the holder.
            return await self._take(deadline)
        return await self._write({"renewTime": _micro_time()}, deadline)

    async def _write(self, spec: dict[str, Any], deadline: float) -> Lease:
        """Create the Lease, or patch it if it still is the version seen; others' fields stay as they are."""
        metadata = {"name": self._name}
        if self._seen is None:
            body = {"metadata": metadata, "spec": spec}
            return await self._api.create(LEASES, body, namespace=self._namespace, deadline=deadline)
        metadata["resourceVersion"] = self._seen.metadata.resource_version
        patch = {"metadata": metadata, "spec": spec}
        return await self._api.patch(LEASES, self._namespace, self._name, patch, deadline=deadline)

    async def _release(self) -> None:
        """Give the Lease up, if it still is this process's, so that nobody has to wait for its end."""
        # A renewal that was cut short may have got through: then the first attempt meets a newer version.
        for _ in range(RELEASE_ATTEMPTS):
            if self._seen is None or self._held_by_other():
                return
            spec = {"holderIdentity": None, "leaseDurationSeconds": 1, "renewTime": _micro_time()}
            try:
                self._note(await self._write(spec, self._timing.call))
            except Conflict:
                await self._look()
            except KubeError as error:
                log.warning("Could not release the Lease", lease=self._name, error=error)
                return
            else:
                log.info("Released the Lease", lease=self._name)
                return


async def _coroutine(function: Callable[[], Awaitable[object]]) -> object:
    return await function()


async def _stop(task: asyncio.Future[Any]) -> None:
    """Cancel a task and wait for its end, whatever that is, even while being cancelled again."""
    if task.done():
        return
    cancelled = False
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("A task failed while it was stopped", exc_info=error)
    if cancelled:
        raise asyncio.CancelledError
