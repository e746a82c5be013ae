"""What must hold whatever happens, checked against the truth that the operator does not see.

A decision is judged by what was true when the operator looked, an act on what cannot change back (a member
that is removed stays removed) by what is true when it is done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.api import names
from app.plan.actions import (
    Action,
    AddMember,
    DeletePod,
    DeleteVolume,
    MembershipAction,
    MoveLeader,
    PromoteMember,
    RemoveMember,
)
from app.plan.membership.changes import CALL_SECONDS
from app.plan.roster import ADD_VOTER

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.etcd.fake import Process, SimulatedCluster, State
    from tests.unit.simulation.kubelet import Kubelet
    from tests.unit.simulation.replica import Turn
    from tests.unit.simulation.server import Server

UNSCHEDULABLE = ("MemberUnschedulable", "words")
"""What the scheduler says of a Pod for which there is no place."""

CHANGES = (AddMember, PromoteMember, RemoveMember, MoveLeader)


class ViolationError(AssertionError):
    """An invariant does not hold."""


def require(holds: bool, what: str) -> None:
    """Raise ViolationError unless it holds."""
    if not holds:
        raise ViolationError(what)


@dataclass(slots=True)
class Truth:
    """What really is, by whole memberships; ``state`` None while nobody has a quorum."""

    etcd: SimulatedCluster
    state: State | None = None
    healthy: frozenset[int] = frozenset()

    @classmethod
    def of(cls, etcd: SimulatedCluster) -> Truth:
        """Look at the processes."""
        for process in etcd.processes.values():
            leader = etcd.leader(process)
            if leader is not None:
                state = leader.held.state
                group = [each for each in etcd.group(leader) if each.joined and not each.lagging]
                ids = {each.held.member_id for each in group}
                return cls(etcd, state, frozenset(ids & set(state.voters)))
        return cls(etcd)

    @property
    def names(self) -> frozenset[str]:
        """The members that etcd lists."""
        if self.state is None:
            return frozenset()
        return frozenset(
            member.name or names.member_of_url(member.peer_urls[0]) for member in self.state.members.values()
        )


@dataclass(slots=True)
class Checks:
    """Judges decisions and acts, and keeps what clients were told."""

    server: Server
    kubelet: Kubelet
    etcd: SimulatedCluster
    acknowledged: int = 0
    doomed: bool = False
    decisions: int = 0
    cluster_id: int = 0
    former: set[int] = field(default_factory=set)

    # After every step.

    def always(self) -> None:
        """What holds at any moment."""
        nobodys = not self.server.pods and not self.server.volumes and not self.acknowledged
        if nobodys and self.server.custom.status.journal.latch is None:
            self.cluster_id = 0  # a founding was taken back
        for process in self.etcd.processes.values():
            if process.data is None or process.data.cluster_id in self.former:
                continue
            state = process.data.state
            if process.joined:
                self.cluster_id = self.cluster_id or process.data.cluster_id
            known = self.cluster_id or process.data.cluster_id
            require(process.data.cluster_id == known, "a cluster of another id was founded")
            require(len(state.members) - len(state.voters) <= 1, "more than one learner")
            if process.joined and not self.doomed and self.etcd.leader(process) is process:
                require(_value(process) >= self.acknowledged, "an acknowledged write was lost")

    def resorted_to(self, value: int) -> None:
        """The user has the cluster go on with one member's data: what only others had counts no more."""
        self.acknowledged = min(self.acknowledged, value)
        self.doomed = False

    def given_up(self) -> None:
        """The user has the cluster founded anew: what clients were told counts no more."""
        self.former.add(self.cluster_id)
        self.cluster_id = self.acknowledged = 0
        self.doomed = False

    # At each decision.

    def decided(self, turn: Turn) -> None:
        """Judge a decision by what was true when it was made."""
        self.decisions += 1
        truth = Truth.of(self.etcd)
        actions = [action for group in turn.decision.groups for action in group]
        if turn.custom.spec.paused:
            require(not actions, "a paused cluster is written to")
        changes = [action for action in actions if isinstance(action, CHANGES)]
        require(len(changes) <= 1, "two changes of the membership at once")
        for change in changes:
            self._change(turn, change, truth)
        for action in actions:
            if isinstance(action, DeleteVolume):
                self._volume(turn, action, truth)
        self._status(turn, truth)

    def _change(self, turn: Turn, action: MembershipAction, truth: Truth) -> None:
        require(truth.state is not None, "a change is sent without a quorum")
        if truth.state is None:
            return
        require(turn.observed.leading_for >= CALL_SECONDS, "a new leader did not wait")
        intent = turn.decision.status.journal.intent
        add = "Add" if isinstance(action, AddMember) and action.learner else ADD_VOTER
        kind = {AddMember: add, PromoteMember: "Promote", RemoveMember: "Remove", MoveLeader: "MoveLeader"}
        require(
            intent is not None and (intent.action, intent.member) == (kind[type(action)], action.member),
            "a change without its intent",
        )
        voters = set(truth.state.voters)
        if isinstance(action, RemoveMember):
            self._removal(turn, action, truth)
            voters -= {action.id}
        if isinstance(action, PromoteMember):
            voters |= {action.id}
        if isinstance(action, AddMember):
            require(len(truth.state.members) == len(voters), "a member is added beside a learner")
            pods = turn.observed.pods
            excused = {
                each.held.member_id
                for each in self.etcd.processes.values()
                if each.data
                and (each.lagging or (each.name in pods and pods[each.name].trouble == UNSCHEDULABLE))
            }
            require(truth.healthy | excused >= voters, "a member is added while another is down")
        # A learner in sync is as good as a healthy voter once it is promoted.
        counted = truth.healthy | ({action.id} if isinstance(action, PromoteMember) else set())
        require(len(counted & voters) >= len(voters) // 2 + 1, f"{action} leaves no healthy quorum")

    def _removal(self, turn: Turn, action: RemoveMember, truth: Truth) -> None:
        """Unknown is not dead: who is healthy as far as its kubelet said, too, is removed to shrink only."""
        if truth.state is None:
            return
        pods = turn.observed.pods
        shrinks = len(truth.state.members) > (turn.custom.spec.size or 0)
        known_well = action.member in pods and pods[action.member].ready
        require(
            shrinks or action.id not in truth.healthy or not known_well,
            f"{action.member} is healthy and replaced",
        )
        staying = {
            member.id
            for member in turn.observed.members or ()
            if member.name not in pods or not pods[member.name].terminating
        }
        left = set(truth.state.voters) - {action.id}
        require(
            len(left & truth.healthy & staying) >= len(left) // 2 + 1,
            "a member is removed beside one that is ending",
        )

    def _volume(self, turn: Turn, action: DeleteVolume, truth: Truth) -> None:
        if turn.custom.status.journal.latch is None:
            # Clients are let in after the latch.
            require(not self.acknowledged, "a founding that is used is taken back")
            return
        require(truth.state is not None and action.name not in truth.names, "data of a member is deleted")
        if truth.state is not None:
            complete = len(truth.state.voters) == len(truth.state.members) == turn.custom.spec.size
            require(complete and truth.healthy >= set(truth.state.voters), "data is deleted before its time")

    def _status(self, turn: Turn, truth: Truth) -> None:
        status = turn.decision.status
        conditions = {one.type: one for one in status.conditions}
        if turn.observed.members is not None:
            require(status.size == len(turn.observed.members), "the size is not etcd's")
        if conditions["Available"].status == "True":
            require(truth.state is not None, "Available is said without a quorum")
            if truth.state is not None:
                require(stored(truth.state) >= self.acknowledged, "Available is said of lost data")
        if conditions["Ready"].status == "True" and truth.state is not None:
            require(
                len(truth.state.voters) == len(truth.state.members) == turn.custom.spec.size,
                "Ready is said of another size",
            )

    # At each act.

    def acting(self, turn: Turn, action: Action) -> None:
        """Judge an act when it is done."""
        truth = Truth.of(self.etcd)
        if isinstance(action, DeletePod):
            pod = self.server.pods.get(action.name)
            process = self.etcd.processes.get(action.name)
            meant = pod is not None and (pod.uid, pod.resource_version) == (
                action.uid,
                action.resource_version,
            )
            if meant and process is not None and process.data is not None:
                require(
                    process.held.member_id not in truth.healthy, f"the healthy Pod {action.name} is deleted"
                )
        if isinstance(action, DeleteVolume) and truth.state is not None:
            require(action.name not in truth.names, "data of a listed member is deleted")

    # Faults that may cost the data for good.

    def about_to_lose(self, lost: Collection[str]) -> bool:
        """Whether the cluster can't come back by itself once these members have lost their data."""
        states = [each.held.state for each in self.etcd.processes.values() if each.data is not None]
        formed = [state for state in states if any(member.client_urls for member in state.members.values())]
        if not formed:
            return False
        latest = max(formed, key=lambda state: state.age)
        kept = {
            process.held.member_id
            for process in self.etcd.processes.values()
            if process.data is not None and process.name not in lost
        }
        return len(kept & set(latest.voters)) < latest.quorum


def stored(state: State) -> int:
    """What the clients' key has."""
    return int(state.keys.get(b"k", (b"0", 0))[0])


def _value(process: Process) -> int:
    return stored(process.held.state)
