"""What the status says: derived from one look alone, so that it is no staler than the look."""

from datetime import datetime

from app.api import conditions, names
from app.api.cluster import ClusterSpec
from app.api.status import ClusterPhase, ClusterStatus, MembersStatus, MemberStatus
from app.etcd import identity
from app.etcd.version import parse
from app.plan.gauges import gauge
from app.plan.health import Health, health_of, why_unready
from app.plan.observed import Answer, Observed
from app.plan.step import Step
from app.plan.verdicts import Verdict, verdicts


def describe(observed: Observed, spec: ClusterSpec, step: Step, *, now: datetime) -> ClusterStatus:
    """Write the status that follows from a look at the cluster and from what was decided about it."""
    before = observed.status
    record = step.journal.bootstrap
    health = health_of(observed, step.journal)
    judged = verdicts(observed, spec, step, health)
    available = judged[0]
    phase = _phase(step, available)
    known = {detail.name: detail for detail in before.member_status}
    details = tuple(_member(observed, known.get(name), name, health) for name in health.members)
    versions = [answer.version for answer in health.serving.values()]
    sizes = [detail.db_size for detail in details if detail.db_size is not None]
    leader = next((detail.name for detail in details if detail.role == "Leader"), "")
    fresh = {
        "observed_generation": observed.cluster.generation,
        "phase": phase,
        "reason": f"{available.reason}: {available.message}" if phase == ClusterPhase.FAILED else "",
        "control_paused": spec.paused,
        "size": len(observed.members) if observed.members is not None else before.size,
        "ready_members": len(health.ready),
        "service_name": spec.client_service(observed.cluster.name),
        "client_port": names.CLIENT_PORT,
        "members": MembersStatus(
            ready=health.ready, unready=tuple(name for name in health.members if name not in health.ready)
        ),
        "member_status": details,
        "cluster_id": record.cluster_id if record and step.journal.latch else "",
        "leader": leader,
        "current_version": min(versions, key=parse) if versions else before.current_version,
        "target_version": "",
        "db_size": max(sizes, default=None),
        "selector": f"app=etcd,etcd_cluster={observed.cluster.name}",
        "conditions": _conditions(observed, judged, now=now),
        "journal": step.journal,
    }
    return before.model_copy(update=fresh)


def _phase(step: Step, available: Verdict) -> ClusterPhase:
    if step.journal.bootstrap is None and not step.troubles:
        return ClusterPhase.CREATING
    if step.journal.latch is None:
        return ClusterPhase.FAILED if any(one.stalled for one in step.troubles) else ClusterPhase.CREATING
    return ClusterPhase.FAILED if available.value is False and _lost(available) else ClusterPhase.RUNNING


def _lost(available: Verdict) -> bool:
    return available.reason in {"QuorumLost", "DataLost", "ClusterIDMismatch"}


def _conditions(observed: Observed, judged: tuple[Verdict, ...], *, now: datetime) -> conditions.Conditions:
    merged = observed.status.conditions
    for one in judged:
        merged = conditions.set_condition(
            merged,
            one.type,
            one.value,
            reason=one.reason,
            message=one.message,
            generation=observed.cluster.generation,
            now=now,
        )
    return merged


def _member(observed: Observed, before: MemberStatus | None, name: str, health: Health) -> MemberStatus:
    answer = health.serving.get(name)
    ready = name in health.ready
    if answer is None:
        base = before or MemberStatus(name=name)
        return base.model_copy(
            update={"ready": ready, "role": "", "reason": why_unready(observed, health, name)}
        )
    return MemberStatus(
        name=name,
        id=identity.text(answer.member_id),
        role=_role(answer),
        ready=ready,
        reason="" if ready else why_unready(observed, health, name),
        version=answer.version,
        db_size=gauge(before.db_size if before else None, answer.db_size, due=observed.gauges_due),
        db_size_in_use=gauge(
            before.db_size_in_use if before else None, answer.db_size_in_use, due=observed.gauges_due
        ),
    )


def _role(answer: Answer) -> str:
    if answer.learner:
        return "Learner"
    return "Leader" if answer.leader == answer.member_id else "Follower"
