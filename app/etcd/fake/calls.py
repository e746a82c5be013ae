"""What a member of the model can be asked, and when it refuses.

The rules are those of ``mayAddMember``, ``mayRemoveMember``, ``mayPromoteMember`` and ``MoveLeader`` in
etcd's ``server/etcdserver/server.go`` with ``--strict-reconfig-check``, its default. ``via`` is the process
that serves the call. Each raises NoAnswerError where a real member would let the caller wait.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from app.etcd.errors import (
    AlreadyExists,
    BadTransferee,
    LearnerNotReady,
    MemberNotFound,
    NoSpace,
    NotEnoughStarted,
    NotLeader,
    NotLearner,
    PeerURLExists,
    TooManyLearners,
    Unhealthy,
)
from app.etcd.fake.state import NoAnswerError
from app.etcd.model import Alarm, AlarmType, Member

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from app.etcd.fake.cluster import SimulatedCluster
    from app.etcd.fake.state import Process, State

CONNECTED_SECONDS: Final = 5.0  # etcd's HealthInterval
READY_FRACTION: Final = 0.9  # of the leader's log, for a learner to be promoted


def member_add(
    cluster: SimulatedCluster, via: Process, peer_urls: Sequence[str], *, learner: bool
) -> tuple[Member, State]:
    """Add a member; returns it and the state after."""
    state = cluster.committed(via)
    voters = state.voters
    if len(voters) > 1:
        if not learner:
            _require_started(_started(state), of=len(voters) + 1)
        if _connected(cluster, via, voters) < (len(voters) + 1) // 2 + 1:
            raise Unhealthy("unhealthy cluster")
    added = Member(id=_new_id(peer_urls, cluster.clock()), peer_urls=tuple(peer_urls), is_learner=learner)
    if added.id in state.removed:
        raise MemberNotFound("member not found")
    if added.id in state.members:
        raise AlreadyExists("member ID already exist")
    if any(set(peer_urls) & set(member.peer_urls) for member in state.members.values()):
        raise PeerURLExists("Peer URLs already exists")
    if learner and len(voters) < len(state.members):
        raise TooManyLearners("too many learner members in cluster")
    return added, cluster.commit(via, members={**state.members, added.id: added})


def member_promote(cluster: SimulatedCluster, via: Process, member_id: int) -> State:
    """Make a learner a voter."""
    state = cluster.committed(via)
    member = state.members.get(member_id)
    if member is None:
        raise MemberNotFound("member not found")
    process = cluster.find(member_id)
    received = process.data.state.index if process is not None and process.data is not None else 0
    if received < READY_FRACTION * state.index:
        raise LearnerNotReady("can only promote a learner member which is in sync with leader")
    _require_started([*_started(state), member_id], of=len(state.voters) + 1)
    if not member.is_learner:
        raise NotLearner("can only promote a learner member")
    return cluster.commit(via, members={**state.members, member_id: replace(member, is_learner=False)})


def member_remove(cluster: SimulatedCluster, via: Process, member_id: int) -> State:
    """Remove a member."""
    state = cluster.committed(via)
    member = state.members.get(member_id)
    if member is None or not member.is_learner:
        rest = [voter for voter in state.voters if voter != member_id]
        _require_started([voter for voter in _started(state) if voter != member_id], of=len(rest))
        process = cluster.find(member_id)
        reachable = process is not None and process in cluster.group(via) and process.name != via.mistaken
        if reachable and _connected(cluster, via, state.voters) - 1 < 1 + (len(state.voters) - 1) // 2:
            raise Unhealthy("unhealthy cluster")
    if member is None:
        raise MemberNotFound("member not found")
    members = {each: found for each, found in state.members.items() if each != member_id}
    return cluster.commit(via, members=members, removed=state.removed | {member_id})


def member_update(cluster: SimulatedCluster, via: Process, member_id: int, peer_urls: Sequence[str]) -> State:
    """Change a member's peer URLs."""
    state = cluster.committed(via)
    if member_id not in state.members:
        raise MemberNotFound("member not found")
    changed = replace(state.members[member_id], peer_urls=tuple(peer_urls))
    return cluster.commit(via, members={**state.members, member_id: changed})


def move_leader(cluster: SimulatedCluster, via: Process, target_id: int) -> None:
    """Hand leadership over."""
    if cluster.leader(via) is not via:
        raise NotLeader("not leader")
    if target_id not in cluster.committed(via).voters:
        raise BadTransferee("bad leader transferee")
    target = cluster.find(target_id)
    if target is None or target.lagging or target not in cluster.group(via):
        raise NoAnswerError
    cluster.transfer(target)


def write(cluster: SimulatedCluster, via: Process, key: bytes | None, value: bytes | None) -> State:
    """Put a key, delete it (without a value), or append to the log only (without a key)."""
    state = cluster.committed(via)
    if value is not None and any(alarm.type is AlarmType.NOSPACE for alarm in state.alarms):
        raise NoSpace("mvcc: database space exceeded")
    if key is None or (value is None and key not in state.keys):
        return cluster.commit(via)
    revision = state.revision + 1
    keys = {each: found for each, found in state.keys.items() if each != key}
    if value is not None:
        keys[key] = (value, revision)
    return cluster.commit(via, keys=keys, revision=revision)


def set_alarm(cluster: SimulatedCluster, via: Process, alarm: Alarm, *, on: bool) -> State:
    """Raise an alarm, or put it off."""
    alarms = cluster.committed(via).alarms
    return cluster.commit(via, alarms=alarms | {alarm} if on else alarms - {alarm})


def _connected(cluster: SimulatedCluster, via: Process, voters: Collection[int]) -> int:
    """How many voters this member has been connected to for long enough, itself included."""
    count = 0
    for voter in voters:
        process = cluster.find(voter)
        if process is via:
            count += 1
        elif process is not None and process.name != via.mistaken:
            count += (cluster.connected_for(via, process) or 0.0) > CONNECTED_SECONDS
    return count


def _started(state: State) -> list[int]:
    return [voter for voter in state.voters if state.members[voter].started]


def _require_started(started: Collection[int], *, of: int) -> None:
    if len(started) < of // 2 + 1:
        raise NotEnoughStarted("re-configuration failed due to not enough started members")


def _new_id(peer_urls: Sequence[str], now: float) -> int:
    text = "".join(sorted(peer_urls)) + str(int(now))
    return int.from_bytes(hashlib.sha1(text.encode(), usedforsecurity=False).digest()[:8], "big")
