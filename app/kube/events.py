"""Tell users what happened, as Kubernetes Events (events.k8s.io/v1).

Recording never delays and never fails the work it tells of: ``emit`` puts the event into a bounded queue and
returns. The same event again becomes a ``series`` of the first one, its count written at most every few
seconds, so that a loop that goes wrong for a day leaves one Event and not ten thousand.
(https://github.com/kubernetes/enhancements/tree/master/keps/sig-instrumentation/383-new-event-api-ga-graduation)
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn

from app.kube.api import Api
from app.kube.errors import Forbidden, Invalid, KubeError, NotFound
from app.kube.resources import EVENTS
from app.ops.logging import get_logger
from app.ops.metrics import Metrics

log = get_logger(__name__)

NOTE_BYTES = 1024
"""What the API server accepts as a note."""
QUEUE_LENGTH = 1000
SERIES_KEPT = 2000
SERIES_SECONDS = 10.0
"""How long repeats are counted before the count is written."""
CALL_SECONDS = 5.0
NAME_LENGTH = 253


@dataclass(frozen=True, slots=True)
class Reference:
    """The object an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""

    def body(self) -> dict[str, str]:
        """Return it as Kubernetes writes it."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
        }


@dataclass(frozen=True, slots=True)
class _Key:
    """What makes two events the same."""

    about: Reference
    type: str
    reason: str
    action: str
    note: str


@dataclass(slots=True)
class _Series:
    """An event that was emitted, and how often. ``name`` is "" until it has been created."""

    name: str = ""
    count: int = 1
    written: int = 0
    last: str = ""
    queued: bool = True
    due: float = 0.0


class Recorder:
    """Emits events. ``run`` writes them; ``flush`` writes what is left at the end."""

    def __init__(
        self,
        api: Api,
        *,
        controller: str,
        instance: str,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make one for ``controller`` (a name such as ``example.com/operator``) in the Pod ``instance``."""
        self._api = api
        self._controller = controller
        self._instance = instance[:128]
        self._dropped = metrics.events_dropped
        self._clock = clock
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        self._queue: asyncio.Queue[_Key] = asyncio.Queue(QUEUE_LENGTH)

    def emit(
        self,
        about: Reference,
        type: Literal["Normal", "Warning"],  # noqa: A002 -- the field's name in Kubernetes
        reason: str,
        action: str,
        note: str,
    ) -> None:
        """Record an event: ``reason`` why and ``action`` what, in CamelCase; ``note`` for people."""
        key = _Key(about, type, reason, action, _shortened(note))
        series = self._series.get(key)
        if series is None:
            series = self._series[key] = _Series(last=_micro_time())
            if not self._enqueue(key):
                del self._series[key]
            elif len(self._series) > SERIES_KEPT:
                self._series.popitem(last=False)
            return
        self._series.move_to_end(key)
        series.count += 1
        series.last = _micro_time()
        if not series.queued:
            series.queued = self._enqueue(key)

    def _enqueue(self, key: _Key) -> bool:
        try:
            self._queue.put_nowait(key)
        except asyncio.QueueFull:
            self._dropped.labels("queue full").inc()
            return False
        return True

    def forget(self, uid: str) -> None:
        """Forget the series of an object that is gone."""
        for key in [
            key for key, series in self._series.items() if key.about.uid == uid and not series.queued
        ]:
            del self._series[key]

    async def run(self) -> NoReturn:
        """Write events as they come, until cancelled."""
        while True:
            key = await self._queue.get()
            series = self._series.get(key)
            if series is None:
                continue
            # The first of a series is written at once; repeats are counted for a while.
            wait = series.due - self._clock()
            if wait > 0:
                asyncio.get_running_loop().call_later(wait, self._requeue, key)
            else:
                await self._write(key, series)

    def _requeue(self, key: _Key) -> None:
        series = self._series.get(key)
        if series is not None:
            series.queued = self._enqueue(key)

    async def flush(self, *, deadline: float) -> None:
        """Write whatever hasn't been written, for at most ``deadline`` seconds; ``run`` has ended before."""
        try:
            async with asyncio.timeout(deadline):
                for key, series in list(self._series.items()):
                    if series.count > series.written:
                        await self._write(key, series)
        except TimeoutError:
            log.warning("Could not write all events before the end", seconds=deadline)

    async def _write(self, key: _Key, series: _Series) -> None:
        series.queued = False
        series.due = self._clock() + SERIES_SECONDS
        count = series.count
        try:
            if series.name and not await self._count(key, series):
                series.name = ""
            if not series.name:
                await self._create(key, series)
        except KubeError as error:
            log.warning("Could not record an event", reason=key.reason, note=key.note, error=error)
            if isinstance(error, Forbidden | Invalid):
                self._dropped.labels("refused").inc()
            else:
                series.queued = True
                asyncio.get_running_loop().call_later(SERIES_SECONDS, self._requeue, key)
        else:
            series.written = count

    async def _create(self, key: _Key, series: _Series) -> None:
        # An Event lives beside its object, and that of a cluster-wide object in "default".
        namespace = key.about.namespace or "default"
        suffix = f".{time.time_ns():x}"
        body: dict[str, Any] = {
            "metadata": {"name": key.about.name[: NAME_LENGTH - len(suffix)] + suffix},
            "eventTime": series.last,
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "regarding": key.about.body(),
            "type": key.type,
            "reason": key.reason,
            "action": key.action,
            "note": key.note,
        }
        if series.count > 1:
            body["series"] = {"count": series.count, "lastObservedTime": series.last}
        created = await self._api.create(EVENTS, body, namespace=namespace, deadline=CALL_SECONDS)
        series.name = created.metadata.name

    async def _count(self, key: _Key, series: _Series) -> bool:
        """Write the count of a series; False when its Event has expired meanwhile."""
        patch = {"series": {"count": series.count, "lastObservedTime": series.last}}
        namespace = key.about.namespace or "default"
        try:
            await self._api.patch(EVENTS, namespace, series.name, patch, deadline=CALL_SECONDS)
        except NotFound:
            return False
        return True


def _micro_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _shortened(note: str) -> str:
    """Cut a note to what the API server accepts, between two characters."""
    data = note.encode()
    if len(data) <= NOTE_BYTES:
        return note
    return data[: NOTE_BYTES - 3].decode(errors="ignore") + "…"
