"""The conditions of a cluster, each with its reason and a sentence that says what would clear it.

``Available`` is about clients: does a quorum serve? It is True on the members' own word together with the
kubelet's, False only on evidence, and Unknown when there is none, since the operator may itself be cut off.
``Ready`` is about the spec: is all of it real, at this generation? ``Degraded``, ``Progressing`` and
``Stalled`` say why not, under the names that kstatus, Flux, Helm and Argo CD know.
"""

from dataclasses import dataclass

from app.api.cluster import ClusterSpec
from app.api.status import ConditionType
from app.plan.health import Health, quorum_lost, why_unready
from app.plan.membership.promotion import doubted, explained, lasting
from app.plan.observed import Observed
from app.plan.recovery.outlook import recovering, way_out
from app.plan.step import Step, Trouble

_FATAL = frozenset({"DataLost", "ClusterIDMismatch", "Corrupt"})
"""With one of these no client is served, or none should be, whatever the members say."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A condition before it is dated; ``value`` None stands for Unknown."""

    type: ConditionType
    value: bool | None
    reason: str
    message: str = ""


def verdicts(observed: Observed, spec: ClusterSpec, step: Step, health: Health) -> tuple[Verdict, ...]:
    """Judge every known condition."""
    available = _available(observed, spec, step, health)
    trouble = _trouble(observed, step, health)
    stalled = next((one for one in step.troubles if one.stalled), None)
    complete = (
        step.journal.latch is not None
        and len(health.ready) == len(health.voters) == len(health.members) == spec.size
        and {*observed.pods, *observed.volumes} <= set(health.members)
        and trouble is None
        and available.value is True
        and not doubted(observed)
    )
    return (
        available,
        _ready(observed, spec, health, trouble, complete=complete),
        _progressing(spec, step, health, trouble, complete=complete, stalled=stalled),
        _degraded(step, trouble),
        Verdict(ConditionType.STALLED, True, stalled.reason, stalled.message)
        if stalled
        else Verdict(ConditionType.STALLED, False, "NotStalled", "nothing waits for a person"),
        _scaling(spec, step, health),
        Verdict(ConditionType.UPGRADING, False, "NotUpgrading", "no other version is asked for"),
        Verdict(ConditionType.RECOVERING, *recovering(observed, spec, step.journal)),
    )


def _available(observed: Observed, spec: ClusterSpec, step: Step, health: Health) -> Verdict:
    kind = ConditionType.AVAILABLE
    fatal = next((one for one in step.troubles if one.reason in _FATAL), None)
    ready = sum(name in health.ready for name in health.voters)
    count = f"{ready} of {len(health.voters)} members are ready, {health.quorum} are needed"
    if health.learners:
        count += f"; {', '.join(sorted(health.learners))} joins as a learner"
    if fatal is not None:
        out = way_out(observed, spec, step.journal)
        return Verdict(kind, False, fatal.reason, f"{fatal.message}{out}")
    if step.journal.latch is None:
        return Verdict(kind, False, *_unfounded(observed, spec, step, health, count))
    value, reason, message = _serves(observed, spec, health, count, way_out(observed, spec, step.journal))
    return Verdict(kind, value, reason, message)


def _serves(
    observed: Observed, spec: ClusterSpec, health: Health, count: str, way_out: str
) -> tuple[bool | None, str, str]:
    if health.enough(health.ready):
        known = spec.client_service(observed.cluster.name) in observed.services
        if not known and not observed.former_services:
            return False, "ServiceMissing", "a quorum serves; the Service for clients is being made"
        return True, "QuorumServes", count
    if health.enough(health.serving):
        return False, "MembersStarting", f"a quorum serves, but clients are not sent to it yet: {count}"
    if quorum_lost(observed, health):
        return (
            False,
            "QuorumLost",
            f"{count}; it clears when enough members are back with their data{way_out}",
        )
    if observed.locked:
        return None, "AuthRequired", "authentication is on in etcd, and the operator has no user to ask with"
    return None, "EtcdUnreachable", "the operator can't reach enough members to know"


def _unfounded(
    observed: Observed, spec: ClusterSpec, step: Step, health: Health, count: str
) -> tuple[str, str]:
    if step.troubles:
        return step.troubles[0].reason, step.troubles[0].message
    stuck = _stuck(observed, health)
    if stuck is not None:
        return stuck.reason, f"{stuck.message}; {count}"
    if step.journal.bootstrap is not None:
        return "Bootstrapping", f"the members are being started: {count}"
    if spec.paused:
        return "Paused", "the cluster is not founded while spec.paused is true"
    return "Bootstrapping", "the cluster is about to be founded"


def _trouble(observed: Observed, step: Step, health: Health) -> Trouble | None:
    """What to tell first: what the plan met, what keeps a Pod from starting, a member that is not ready."""
    if step.troubles:
        return step.troubles[0]
    stuck = _stuck(observed, health)
    if stuck is not None:
        return stuck
    if lasting(observed):
        return Trouble("PromotionUnverified", explained(observed))
    # A learner that has not caught up yet is on its way: that is growing, not trouble.
    unready = [name for name in health.voters if name not in health.ready]
    if unready:
        said = (f"{name} ({why_unready(observed, health, name)})" for name in unready)
        return Trouble("MembersUnready", f"not ready: {', '.join(said)}")
    return None


def _stuck(observed: Observed, health: Health) -> Trouble | None:
    """What keeps a member's Pod from starting, in the words of the scheduler or the kubelet."""
    for name in health.members:
        pod = observed.pods.get(name)
        if pod is None or pod.terminating:
            continue
        if pod.trouble is not None and name not in health.ready:
            reason, words = pod.trouble
            return Trouble(reason, f"{name}: {words}")
    return None


def _ready(
    observed: Observed, spec: ClusterSpec, health: Health, trouble: Trouble | None, *, complete: bool
) -> Verdict:
    if complete:
        return Verdict(
            ConditionType.READY, True, "AsSpecified", f"all {len(health.members)} members are ready"
        )
    if trouble is not None:
        return Verdict(ConditionType.READY, False, trouble.reason, trouble.message)
    if doubted(observed):
        return Verdict(ConditionType.READY, False, "PromotionUnverified", explained(observed))
    if health.members and _resizing(spec, health):
        return Verdict(ConditionType.READY, False, "SizeDiffers", _sizes(spec, health))
    left = sorted({*observed.pods, *observed.volumes} - set(health.members))
    if health.members and left:
        text = f"no member any more, and not gone yet: {', '.join(left)}"
        return Verdict(ConditionType.READY, False, "LeftoversRemain", text)
    return Verdict(
        ConditionType.READY, False, "Paused" if spec.paused else "Bootstrapping", "not founded yet"
    )


def _progressing(
    spec: ClusterSpec,
    step: Step,
    health: Health,
    trouble: Trouble | None,
    *,
    complete: bool,
    stalled: Trouble | None,
) -> Verdict:
    kind = ConditionType.PROGRESSING
    if complete:
        return Verdict(kind, False, "Settled", "there is nothing to do")
    if stalled is not None:
        return Verdict(kind, False, stalled.reason, stalled.message)
    if spec.paused:
        return Verdict(kind, False, "Paused", "spec.paused is true: the operator changes nothing")
    if step.journal.latch is None:
        return Verdict(
            kind, True, "Bootstrapping", trouble.message if trouble else "the cluster is being founded"
        )
    if trouble is None and _resizing(spec, health):
        return Verdict(kind, True, _direction(spec, health), _sizes(spec, health))
    return Verdict(kind, True, "Healing", trouble.message if trouble else "members are being brought back")


def _resizing(spec: ClusterSpec, health: Health) -> bool:
    return len(health.members) != spec.size or bool(health.learners)


def _direction(spec: ClusterSpec, health: Health) -> str:
    size = len(health.members)
    return "ScalingDown" if size > (spec.size or size) else "ScalingUp"


def _sizes(spec: ClusterSpec, health: Health) -> str:
    """The old operator's words for a change of the size."""
    learners = f" ({len(health.learners)} of them a learner)" if health.learners else ""
    return f"Current cluster size: {len(health.members)}{learners}, desired cluster size: {spec.size}"


def _scaling(spec: ClusterSpec, step: Step, health: Health) -> Verdict:
    kind = ConditionType.SCALING
    if step.journal.latch is None or not _resizing(spec, health):
        return Verdict(kind, False, "NotScaling", "the cluster has the size that is asked for")
    return Verdict(kind, True, _direction(spec, health), _sizes(spec, health))


def _degraded(step: Step, trouble: Trouble | None) -> Verdict:
    kind = ConditionType.DEGRADED
    if step.journal.latch is None:
        return Verdict(kind, False, "NotFounded", "there is no cluster yet that could be")
    if trouble is None or trouble.passing:
        return Verdict(kind, False, "AllMembersReady", "every member that votes is ready")
    return Verdict(kind, True, trouble.reason, trouble.message)
