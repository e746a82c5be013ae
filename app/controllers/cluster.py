"""The controller of EtcdClusters: from a key of the queue to a look, a decision and its acts.

Everything that may concern a cluster wakes its key: the custom resource itself and its children, found by the
label ``etcd_cluster``. A settled cluster is looked at every few seconds as well, since etcd has no watch.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from pydantic import ValidationError

from app.act.cluster import Actor
from app.api.base import API_VERSION, GROUP, JsonObject
from app.api.conditions import is_true
from app.api.status import ClusterStatus, ConditionType
from app.config import Scope
from app.controllers.claims import Claims
from app.controllers.patience import Patience
from app.controllers.stopwatch import Stopwatch
from app.kube.events import Recorder, Reference
from app.kube.objects import CustomObject, Object, PodDisruptionBudget
from app.kube.queue import LOW, NORMAL, WorkQueue
from app.observe.caches import BY_NAMESPACE, Caches, cluster_of, owner_of
from app.observe.cluster import Observer
from app.observe.pulse import Fingerprint, Pulse
from app.ops.logging import get_logger
from app.ops.metrics import Metrics
from app.plan.accept import Accepted, Refused, accept
from app.plan.actions import DeletePod
from app.plan.cluster import SETTLED, plan
from app.plan.gauges import SECONDS as GAUGE_SECONDS
from app.plan.observed import ClusterRef, Observed
from app.plan.recovery.orders import read_order
from app.plan.refusal import refuse
from app.plan.step import Plan
from app.plan.symptoms import symptoms

log = get_logger(__name__)

SCOPE_ANNOTATION = f"{GROUP}/scope"
CLUSTER_WIDE = "clusterwide"


def takes(obj: Object, scope: Scope) -> bool:
    """Whether an operator of this scope is the one for a cluster, by the cluster's annotation."""
    if scope is Scope.ALL:
        return True
    return (obj.metadata.annotation(SCOPE_ANNOTATION) == CLUSTER_WIDE) == (scope is Scope.CLUSTER_WIDE)


@dataclass(frozen=True, slots=True)
class Hands:
    """What a leader works with."""

    observer: Observer
    pulse: Pulse
    actor: Actor
    recorder: Recorder
    claims: Claims


class ClusterController:
    """Reconciles EtcdClusters. `subscribe` feeds the queue, `reconcile` handles one key."""

    def __init__(
        self,
        caches: Caches,
        queue: WorkQueue,
        hands: Hands,
        *,
        scope: Scope,
        metrics: Metrics,
        patience: Patience | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._caches = caches
        self._queue = queue
        self._hands = hands
        self._scope = scope
        self._metrics = metrics
        self._patience = patience or Patience()
        self._stopwatch = Stopwatch()
        self._gauges: dict[str, float] = {}
        self._leading_since = float("-inf")
        self._now = now

    def subscribe(self) -> None:
        """Let every cache wake the keys that its changes concern."""
        self._caches.clusters.subscribe(self._cluster_changed)
        for informer in (self._caches.pods, self._caches.volumes, self._caches.services):
            informer.subscribe(self._child_changed)
        self._caches.budgets.subscribe(self._budget_changed)

    def lead(self) -> None:
        """Begin a term: what an earlier one has timed counts no more, and all clusters are looked at."""
        self._leading_since = time.monotonic()
        self._stopwatch.restart()
        self._hands.claims.restart()
        for key in self._caches.clusters.store:
            self._queue.add(key, priority=LOW)

    def _cluster_changed(self, old: CustomObject | None, new: CustomObject | None) -> None:
        obj = new or old
        if obj is None:
            return
        if new is None:
            self._metrics.clusters_deleted.inc()
            self._hands.recorder.forget(obj.metadata.uid)
        elif old is None:
            self._metrics.clusters_created.inc()
        elif old.metadata.generation != new.metadata.generation:
            self._metrics.clusters_modified.inc()
        self._metrics.clusters.set(len(self._caches.clusters.store))
        self._queue.add(obj.metadata.key, priority=LOW if old is None and new and new.status else NORMAL)

    def _child_changed(self, old: Object | None, new: Object | None) -> None:
        for key in {cluster_of(obj) for obj in (old, new) if obj is not None} - {""}:
            self._queue.add(key)

    def _budget_changed(self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> None:
        """Wake the cluster that a PodDisruptionBudget is of; one of nobody's may select any members."""
        if old is not None and new is not None and _is_as_it_was(old, new):
            return  # its status follows every Pod
        for obj in (old, new):
            if obj is None:
                continue
            owner = owner_of(obj)
            if owner:
                self._queue.add(owner)
                continue
            for cluster in self._caches.clusters.store.by_index(BY_NAMESPACE, obj.metadata.namespace):
                self._queue.add(cluster.metadata.key, priority=LOW)

    async def reconcile(self, key: str) -> float | None:
        """Bring one cluster a step further; returns after how many seconds to look again.

        Raises the errors of the API server; the key is then tried again after a while.
        """
        began = time.monotonic()
        try:
            return await self._reconcile(key)
        except Exception as error:
            self._metrics.cluster_reconcile_failed.labels(type(error).__name__).inc()
            raise
        finally:
            self._metrics.cluster_reconcile_duration.observe(time.monotonic() - began)

    async def _reconcile(self, key: str) -> float | None:
        obj = self._caches.clusters.store.get(key)
        if obj is None:
            self._patience.forget(key)
            self._stopwatch.forget(key)
            self._hands.actor.refusals.forget(key)
            self._gauges.pop(key, None)
            self._hands.pulse.forget(key)
            self._hands.claims.forget(key)
            self._queue.drop(key)
            return None
        if not takes(obj, self._scope) or obj.metadata.deletion_timestamp is not None:
            await self._leave(key, obj)
            return None
        fingerprint = self._hands.observer.fingerprint(obj)
        if await self._hands.pulse.beats(key, fingerprint):
            return SETTLED
        cluster = ClusterRef(
            name=obj.metadata.name,
            namespace=obj.metadata.namespace,
            uid=obj.metadata.uid,
            generation=obj.metadata.generation,
        )
        status = await self._hands.claims.claimed(key, _reference(obj), _status(obj))
        if status is None:
            self._hands.pulse.forget(key)
            return SETTLED
        accepted = accept(_metadata(obj), obj.spec, status)
        if isinstance(accepted, Refused):
            refused = refuse(cluster, status, accepted.words, now=self._now())
            await self._hands.actor.write_status(obj, refused.status.to_json())
            self._tell(obj, status, refused)
            return None
        return await self._advance(key, obj, cluster, status, accepted, fingerprint)

    async def _leave(self, key: str, obj: CustomObject) -> None:
        """Let go of a cluster that is being deleted, or that is another operator's to take."""
        self._hands.pulse.forget(key)
        self._hands.claims.forget(key)
        released = self._hands.claims.released(_status(obj))
        if released is not None and obj.metadata.deletion_timestamp is None:
            await self._hands.actor.write_status(obj, released.to_json())

    async def _advance(
        self,
        key: str,
        obj: CustomObject,
        cluster: ClusterRef,
        status: ClusterStatus,
        accepted: Accepted,
        fingerprint: Fingerprint,
    ) -> float:
        journal = status.journal.model_copy(update={"accepted_spec": accepted.text})
        observed = await self._hands.observer.observe(
            cluster,
            accepted.spec,
            status.model_copy(update={"journal": journal}),
            self._patience.waits(key),
        )
        observed = replace(
            observed,
            ages=self._stopwatch.time(key, symptoms(observed)),
            leading_for=time.monotonic() - self._leading_since,
            refusals=self._hands.actor.refusals.of(key, accepted.spec.storage),
            order=read_order(obj.metadata.annotations or {}),
            gauges_due=time.monotonic() - self._gauges.get(key, float("-inf")) >= GAUGE_SECONDS,
        )
        self._patience.ready(key, [pod.name for pod in observed.pods.values() if pod.ready])
        decision = plan(observed, accepted.spec, now=self._now(), invalid=accepted.invalid)
        wrote = await self._hands.actor.write_status(obj, decision.status.to_json())
        if wrote and observed.gauges_due:
            self._gauges[key] = time.monotonic()
        follows_up = wrote is not None and decision.status.journal != journal
        if not follows_up and not decision.groups and _is_ready(decision):
            if wrote is not None:  # the own write is no news
                fingerprint = replace(fingerprint, version=wrote.metadata.resource_version)
            self._hands.pulse.settle(key, fingerprint, [pod.ip for pod in observed.pods.values()])
        self._tell(obj, status, decision)
        for group in decision.groups:
            for action in group:
                if isinstance(action, DeletePod):
                    self._patience.tried(key, action.name)
        await self._hands.actor.act(cluster, accepted.spec, decision.groups)
        _log_progress(status, decision, observed)
        # What was written wakes the key by itself; a record without acts is followed up at once.
        return 0.0 if follows_up else decision.requeue_after

    def _tell(self, obj: CustomObject, before: ClusterStatus, decision: Plan) -> None:
        reference = _reference(obj)
        for event in decision.events:
            self._hands.recorder.emit(
                reference, type=event.type, reason=event.reason, action=event.action, note=event.note
            )
        if decision.status.phase == "Failed" != before.phase:
            self._metrics.clusters_failed.inc()


def _reference(obj: CustomObject) -> Reference:
    return Reference(
        api_version=API_VERSION,
        kind="EtcdCluster",
        namespace=obj.metadata.namespace,
        name=obj.metadata.name,
        uid=obj.metadata.uid,
    )


def _is_ready(decision: Plan) -> bool:
    return is_true(decision.status.conditions, ConditionType.READY)


def _is_as_it_was(old: Object, new: Object) -> bool:
    return all(
        getattr(old.metadata, part) == getattr(new.metadata, part)
        for part in ("uid", "generation", "labels", "owner_references", "deletion_timestamp")
    )


def _status(obj: CustomObject) -> ClusterStatus:
    """Read the status; what somebody has made unreadable by hand is as good as lost, and is written anew."""
    try:
        return ClusterStatus.model_validate(obj.status)
    except ValidationError as error:
        log.warning("Found a status that can't be read; it is derived anew", errors=error.error_count())
        return ClusterStatus()


def _metadata(obj: CustomObject) -> JsonObject:
    fields: dict[str, Any] = msgspec.to_builtins(obj.metadata)
    return fields


def _log_progress(before: ClusterStatus, decision: Plan, observed: Observed) -> None:
    if before.phase != decision.status.phase:
        log.info(
            "Phase changed", phase=decision.status.phase, before=before.phase, answers=len(observed.answers)
        )
