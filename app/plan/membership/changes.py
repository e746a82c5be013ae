"""Changes of etcd's membership: replace, finish a learner, shrink, grow; in this order, one at a time.

Everything is decided from etcd's own linearizable list. What is about to be sent is recorded as the intent
first, by compare-and-swap, so that of two operators that both believe to lead only one gets to send it, and
a crash leaves the name of a member that may have been added. A call whose outcome is unknown is not repeated
blindly: the next list says what came of it.

The gate in front of every change: it must leave as many healthy voters as the quorum of the membership after
it, and as many must be healthy before as it takes to commit it.
"""

from dataclasses import replace

from app.api import versions
from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.etcd import identity
from app.etcd.model import quorum
from app.etcd.version import parse
from app.plan.actions import AddMember, Disarm, MoveLeader, PromoteMember, Via
from app.plan.corruption import orphaned
from app.plan.latching import serving
from app.plan.membership.intents import Change, intending, removing
from app.plan.membership.learners import hopeless
from app.plan.membership.promotion import doubted
from app.plan.membership.replacing import replacement
from app.plan.membership.seats import Seats
from app.plan.membership.ways import through
from app.plan.naming import unused
from app.plan.observed import ListedMember, Observed
from app.plan.progress import stuck
from app.plan.roster import ADD_VOTER
from app.plan.starting import peer_urls
from app.plan.step import Event, Trouble

CALL_SECONDS = 5.0
"""The deadline of a call that changes the membership, and how long a new leader waits before its first."""

LEARNERS_SINCE = (3, 4)
"""The first version of etcd that knows learners. An older one takes a learner for a voter, in silence."""

IN_SYNC = 1000
"""A learner is promoted when its applied index is this close to the leader's; etcd asks for 90 % only."""


def change(observed: Observed, spec: ClusterSpec, journal: Journal) -> Change:
    """Decide the next change of the membership, if any."""
    latch = journal.latch
    if latch is None or observed.members is None or spec.paused or observed.namespace_ending:
        return Change(journal)
    # One whose Pod is terminating serves for seconds only.
    healthy = {
        name: answer
        for name, answer in serving(observed, latch.cluster_id).items()
        if not observed.pods[name].terminating and not stuck(observed, name)
    }
    seats = Seats(observed.members, healthy)
    journal = _without_outcome(journal, seats)
    leader = seats.leader
    if leader is None or observed.leading_for < CALL_SECONDS:
        return Change(journal)
    via = Via(observed.pods[leader.name].ip, identity.parse(latch.cluster_id), leader.id)
    size = spec.size or len(seats.voters)
    for decision in (
        _disarm(observed, journal, via),
        replacement(observed, spec, journal, seats, via),
        _finish(observed, spec, journal, seats, via) if len(seats.members) <= size else None,
        _shrink(journal, seats, via) if len(seats.members) > size else None,
        _grow(observed, spec, journal, seats, via) if len(seats.members) < size else None,
    ):
        if decision is not None:
            repeated = decision.journal.intent is not None and decision.journal.intent == journal.intent
            return _again(observed, decision, seats, via) if repeated else decision
    # What was intended is not wanted any more; what comes of it after all, the list shows.
    return Change(journal.model_copy(update={"intent": None}) if journal.intent else journal)


def _again(observed: Observed, decision: Change, seats: Seats, via: Via) -> Change:
    """Send what etcd did not take once more, perhaps through another member; it is told once."""
    action, intent = decision.action, decision.journal.intent
    if action is not None and intent is not None and not isinstance(action, MoveLeader):
        healthy = [member for member in seats.voters if member.name in seats.healthy]
        asked = through(observed, intent, healthy, leader_id=via.member_id)
        action = replace(action, via=replace(via, address=observed.pods[asked.name].ip, member_id=asked.id))
    return replace(decision, action=action, event=None)


def _without_outcome(journal: Journal, seats: Seats) -> Journal:
    """Drop the intent once the list shows what came of it."""
    intent = journal.intent
    if intent is None:
        return journal
    there = next((member for member in seats.members if member.name == intent.member), None)
    done = {
        "Add": there is not None,
        ADD_VOTER: there is not None,
        "Promote": there is None or not there.learner,
        "Remove": there is None,
        "MoveLeader": seats.leader is not None and seats.leader.name != intent.member,
    }
    return journal.model_copy(update={"intent": None}) if done.get(intent.action, True) else journal


def _disarm(observed: Observed, journal: Journal, via: Via) -> Change | None:
    """Put off the alarm of a member that is gone: until then no member serves anybody."""
    for member_id in orphaned(observed, journal):
        text = f"The CORRUPT alarm of member {identity.text(member_id)}, which is gone, is put off"
        action = Disarm(identity.text(member_id), member_id, via)
        return Change(journal, action, event=Event("AlarmDisarmed", "Disarm", text))
    return None


def _finish(observed: Observed, spec: ClusterSpec, journal: Journal, seats: Seats, via: Via) -> Change | None:
    """Promote a learner that is in sync; give up one that does not get there."""
    leader = seats.said_leader
    if leader is None:
        return None
    for learner in seats.learners:
        answer = seats.healthy.get(learner.name)
        if answer is not None and leader.raft_index - answer.raft_applied_index <= IN_SYNC:
            if not seats.may_promote():
                text = f"{learner.name} can't be promoted: too few of the voters are healthy"
                return Change(journal, trouble=Trouble("MembersUnready", text))
            return Change(
                intending(journal, "Promote", learner.name, learner.id),
                PromoteMember(learner.name, learner.id, via),
                event=Event("MemberPromoted", "Promote", f"{learner.name} is in sync and becomes a voter"),
            )
        note = hopeless(observed, spec, learner.name, leader)
        if note:
            return removing(journal, learner, via, Event("LearnerGivenUp", "Remove", note, type="Warning"))
        return Change(journal)
    return None


def _shrink(journal: Journal, seats: Seats, via: Via) -> Change:
    """Remove the member that is missed least.

    Not started, learner, unhealthy, follower, and the leader last.
    """
    leader = seats.leader
    victim = min(seats.members, key=lambda member: _value(member, seats))
    if not seats.may_remove(victim):
        text = f"{victim.name} can't be removed: too few of the other members are healthy"
        return Change(journal, trouble=Trouble("WouldLoseQuorum", text))
    if leader is not None and victim.name == leader.name:
        others = [member for member in seats.voters if member.name in seats.healthy and member != leader]
        if others:
            target = max(others, key=lambda member: seats.healthy[member.name].raft_applied_index)
            return Change(
                intending(journal, "MoveLeader", victim.name, victim.id),
                MoveLeader(victim.name, target.id, via),
                event=Event("LeaderMoved", "MoveLeader", f"{target.name} leads in place of {victim.name}"),
            )
    note = f"{victim.name} is removed: the cluster is to have fewer members"
    return removing(journal, victim, via, Event("MemberRemoved", "ScaleDown", note))


def _value(member: ListedMember, seats: Seats) -> tuple[bool, bool, bool, bool, str]:
    leads = seats.leader is not None and member.name == seats.leader.name
    return member.started, not member.learner, member.name in seats.healthy, leads, member.name


def _grow(observed: Observed, spec: ClusterSpec, journal: Journal, seats: Seats, via: Via) -> Change | None:
    """Add a learner, one at a time.

    None while a promotion is not believed by all, or a voter is down that may come back or be replaced.

    One whose Pod can't be scheduled stands in nobody's way, as long as etcd takes the learner; it counts that
    as a voter that is down (``isConnectedToQuorumAfterAddingNewMemberSince`` in its server.go).
    """
    down = [member.name for member in seats.voters if member.name not in seats.healthy]
    held_up = not all(_has_no_place(observed, name) for name in down)
    refused = bool(down) and seats.healthy_voters() < quorum(len(seats.voters) + 1)
    learner = all(parse(version) >= LEARNERS_SINCE for version in _versions(spec, seats))
    if held_up or refused or (down and not learner) or doubted(observed):
        return None
    name, journal = _next_name(observed, journal, seats)
    return Change(
        intending(journal, "Add" if learner else ADD_VOTER, name, 0),
        AddMember(name, peer_urls(observed.cluster, spec, [name])[name], learner, via),
        event=Event("NewMemberAdded", "ScaleUp", f"{name} is added as a {'learner' if learner else 'voter'}"),
    )


def _has_no_place(observed: Observed, member: str) -> bool:
    pod = observed.pods.get(member)
    return pod is not None and pod.trouble is not None and pod.trouble[0] == "MemberUnschedulable"


def _versions(spec: ClusterSpec, seats: Seats) -> tuple[str, ...]:
    """What the members run and what the next one will."""
    wanted = versions.bare(spec.version or versions.DEFAULT)
    return (wanted, *(answer.version for answer in seats.healthy.values()))


def _next_name(observed: Observed, journal: Journal, seats: Seats) -> tuple[str, Journal]:
    """The name of an add that may have been sent already, else one that was never used."""
    if journal.intent is not None and journal.intent.action in {"Add", ADD_VOTER}:
        return journal.intent.member, journal
    taken = {*observed.pods, *observed.volumes, *(member.name for member in seats.members)}
    (name,), journal = unused(observed.cluster, journal, taken, count=1)
    return name, journal
