"""What the operator hears from the simulated members, and what it can have them change."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from app.api import names
from app.etcd.errors import EtcdError, MemberNotFound, NotLearner, PeerURLExists, Unhealthy
from app.etcd.fake import NoAnswerError, calls
from app.etcd.model import Alarm, AlarmType
from app.plan.actions import AddMember, Disarm, MembershipAction, MoveLeader, PromoteMember, RemoveMember
from app.plan.observed import Answer, ListedMember

if TYPE_CHECKING:
    from app.etcd.fake import Process, SimulatedCluster, State


class Outcome(IntEnum):
    """How a call ends: answered; or lost, before or after it was carried out, or carried out later."""

    ANSWERED = 0
    LOST_BEFORE = 1
    LOST_AFTER = 2
    LATE = 3


class FailedError(Exception):
    """A call failed: what came of it is not known."""


def answer(etcd: SimulatedCluster, process: Process | None) -> Answer | None:
    """What a member says of itself; None while it is silent."""
    if process is None or not process.running or not process.joined or not process.dialable:
        return None
    data, leader = process.held, etcd.leader(process)
    known = data.state.members.get(data.member_id)
    return Answer(
        cluster_id=data.cluster_id,
        member_id=data.member_id,
        leader=leader.held.member_id if leader is not None else 0,
        version=process.version,
        revision=data.state.revision,
        raft_index=leader.held.state.index if leader is not None else data.state.index,
        raft_term=data.state.term,
        raft_applied_index=data.state.index,
        db_size=20480,
        db_size_in_use=16384,
        learner=known is not None and known.is_learner,
    )


def members(etcd: SimulatedCluster, process: Process) -> tuple[ListedMember, ...] | None:
    """The list as a member with a quorum gives it; None where it hangs, or the member is a learner."""
    try:
        state = etcd.committed(process)
    except NoAnswerError:
        return None
    own = state.members.get(process.held.member_id)
    if own is None or own.is_learner:
        return None
    return listed(state)


def listed(state: State) -> tuple[ListedMember, ...]:
    """A membership, as the operator reads it."""
    return tuple(
        ListedMember(
            id=member.id,
            name=member.name or names.member_of_url(member.peer_urls[0]),
            peer_url=member.peer_urls[0],
            learner=member.is_learner,
            started=member.started,
        )
        for member in sorted(state.members.values(), key=lambda each: each.id)
    )


def change(
    etcd: SimulatedCluster, process: Process | None, action: MembershipAction, outcome: Outcome
) -> None:
    """Send a change to whoever has the address. Raises FailedError unless it went well or was done before."""
    said = answer(etcd, process)
    if process is None or said is None:
        raise FailedError("unreachable")
    if (said.cluster_id, said.member_id) != (action.via.cluster_id, action.via.member_id):
        raise FailedError("another member answers")
    if outcome in {Outcome.LOST_BEFORE, Outcome.LATE}:
        raise FailedError("no answer")
    try:
        _send(etcd, process, action)
    except (PeerURLExists, NotLearner, MemberNotFound, Unhealthy):
        pass
    except (EtcdError, NoAnswerError) as error:
        raise FailedError("refused") from error
    if outcome is Outcome.LOST_AFTER:
        raise FailedError("no answer")


def _send(etcd: SimulatedCluster, process: Process, action: MembershipAction) -> None:
    match action:
        case AddMember():
            calls.member_add(etcd, process, [action.peer_url], learner=action.learner)
        case PromoteMember():
            calls.member_promote(etcd, process, action.id)
        case RemoveMember():
            calls.member_remove(etcd, process, action.id)
        case MoveLeader():
            calls.move_leader(etcd, process, action.target)
        case Disarm():
            calls.set_alarm(etcd, process, Alarm(action.id, AlarmType.CORRUPT), on=False)
