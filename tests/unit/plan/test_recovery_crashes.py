"""A recovery whose operator dies at any call, before it is carried out or after, ends as it should."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from app.api.status import ClusterStatus, Incident, Journal
from app.etcd import identity
from app.plan.actions import (
    Action,
    CreateHelper,
    CreatePod,
    DeletePod,
    DeleteVolume,
    Quarantine,
)
from app.plan.observed import Answer, Helper, ListedMember, Observed, Order, PodFacts, Task, VolumeFacts
from app.plan.roster import roster
from tests.unit.plan.looks import CLUSTER, IDENTITY, MEMBERS, PERSISTENT, SERVICES, A, B, C, answer, latched
from tests.unit.plan.looks import decide as decide_at

Stage = Literal["before", "after"]
ONE = PERSISTENT.model_copy(update={"size": 1})
"""So that the cluster is complete with the survivor alone, and the claims are released."""

LOGS = {B: (2, 90), C: (3, 7)}


class CrashError(Exception):
    """The operator is gone."""


@dataclass
class World:
    """Two members of three have their data, none has a quorum; the kubelet is a tick behind.

    At a turn the claim of ``C``, whose log is the last, may be lost as well.
    """

    crash_at: int
    stage: Stage
    lose_at: int = -1
    journal: Journal = field(
        default_factory=lambda: latched(persistent=True).model_copy(
            update={"incident": Incident(token="t-1", number=1)}
        )
    )
    pods: dict[str, PodFacts] = field(default_factory=dict)
    helpers: dict[str, Helper] = field(default_factory=dict)
    volumes: dict[str, VolumeFacts] = field(default_factory=dict)
    seated: tuple[str, ...] = MEMBERS
    calls: int = 0
    turns: int = 0

    def __post_init__(self) -> None:
        for name in LOGS:
            self.pods[name] = self._pod(name, started=True)
            self.volumes[name] = VolumeFacts(name, f"pvc-{name}", "1")

    def _pod(self, name: str, **changes: Any) -> PodFacts:
        made = PodFacts(name, f"uid-{name}-{self.calls}", "1", ip="10.0.0.1", phase="Running", running=True)
        return replace(made, **changes)

    def look(self) -> Observed:
        members = roster(self.journal)
        every = {task.pod(name) for name in MEMBERS for task in Task}
        alone = self.seated[0]
        forgot = len(self.seated) == 1 and alone in self.pods
        serves = {alone: answer(alone, leader=alone)} if forgot else {}
        silent: dict[str, Answer] = {
            name: answer(name, leader="") for name in self.pods if name not in serves
        }
        return Observed(
            cluster=CLUSTER,
            status=ClusterStatus(journal=self.journal),
            pods=dict(self.pods),
            volumes=dict(self.volumes),
            services=SERVICES,
            answers={**silent, **serves},
            members=self._listed() if serves else None,
            absent=frozenset(members) - self.pods.keys(),
            absent_volumes=frozenset(members) - self.volumes.keys(),
            helpers=dict(self.helpers),
            absent_helpers=frozenset(every - self.helpers.keys()),
            order=Order(self.journal.incident.token if self.journal.incident else ""),
        )

    def _listed(self) -> tuple[ListedMember, ...]:
        return tuple(ListedMember(IDENTITY.member_ids[name], name, "http://x:2380") for name in self.seated)

    def turn(self) -> None:
        """One look, what follows from it, and a tick of the kubelet."""
        if self.turns == self.lose_at:
            self.volumes[C] = replace(self.volumes[C], terminating=True)
        self.turns += 1
        decision = decide_at(self.look(), ONE)
        try:
            if decision.status.journal != self.journal:
                with_journal = decision.status.journal
                self._call(lambda: setattr(self, "journal", with_journal))
            for action in (action for group in decision.groups for action in group):
                self._call(lambda action=action: self._carry_out(action))
        except CrashError:
            pass
        self._tick()

    def _call(self, doing: Any) -> None:
        number, self.calls = self.calls, self.calls + 1
        if number == self.crash_at and self.stage == "before":
            raise CrashError
        doing()
        if number == self.crash_at:
            raise CrashError

    def _carry_out(self, action: Action) -> None:
        match action:
            case CreatePod():
                self.pods.setdefault(action.member, self._pod(action.member, started=True, ready=True))
            case CreateHelper():
                name = action.task.pod(action.start.member)
                made = Helper(
                    self._pod(name, phase="Pending"), action.start.member, action.task, action.token
                )
                self.helpers.setdefault(name, made)
            case DeletePod():
                if action.name in self.pods:
                    self.pods[action.name] = replace(self.pods[action.name], terminating=True)
                else:
                    helper = self.helpers[action.name]
                    self.helpers[action.name] = replace(helper, pod=replace(helper.pod, terminating=True))
            case Quarantine():
                aside = replace(self.volumes[action.name], quarantined=bool(action.token))
                self.volumes[action.name] = aside
            case DeleteVolume():
                assert len(self.seated) == 1
                assert action.name != self.seated[0]
                del self.volumes[action.name]
            case _:
                pass

    def _tick(self) -> None:
        self.pods = {name: pod for name, pod in self.pods.items() if not pod.terminating}
        self.helpers = {name: one for name, one in self.helpers.items() if not one.pod.terminating}
        self._let_go()
        self.helpers = {name: self._run(one) for name, one in self.helpers.items()}
        forcing = [one for one in self.helpers.values() if one.task == Task.FORCE]
        assert not (forcing and self.pods), "a member runs beside the one that forgets it"
        best = C if C in self.volumes else B
        assert all(one.member == best for one in forcing), "the log of another one is the last"
        assert not (forcing and self._step() in {"Restarting", "Growing", "Done"})

    def _let_go(self) -> None:
        """A claim that is being deleted goes when no Pod is on it."""
        on = {*self.pods, *(one.member for one in self.helpers.values())}
        self.volumes = {
            name: claim for name, claim in self.volumes.items() if name in on or not claim.terminating
        }

    def _run(self, helper: Helper) -> Helper:
        if self.volumes[helper.member].terminating and not helper.pod.running:
            return helper  # no Pod starts on it
        if helper.task == Task.INSPECT:
            term, index = LOGS[helper.member]
            ids = {
                "clusterID": identity.text(IDENTITY.cluster_id),
                "memberID": identity.text(IDENTITY.member_ids[helper.member]),
            }
            said = json.dumps({**ids, "term": term, "index": index, "commit": 1, "tail": "clean"})
            return replace(helper, pod=replace(helper.pod, phase="Succeeded", started=True), said=said)
        self.seated = (helper.member,)
        running = replace(helper.pod, phase="Running", running=True, started=True)
        serves = answer(helper.member, leader=helper.member)
        return replace(helper, pod=running, answer=serves, members=self._listed())

    def _step(self) -> str:
        return self.journal.recovery.step if self.journal.recovery else ""

    def converges(self) -> bool:
        return any(self._turned() for _ in range(60))

    def _turned(self) -> bool:
        self.turn()
        return self._step() == "Done" and not self.helpers


def numbers() -> Iterator[int]:
    """As many as a recovery that is not disturbed has calls."""
    undisturbed = World(-1, "before")
    assert undisturbed.converges()
    return iter(range(undisturbed.calls))


@pytest.mark.parametrize("stage", ["before", "after"])
def test_I1_killed_at_each_call_of_a_recovery_it_converges(stage: Stage) -> None:
    count = 0
    for number in numbers():
        world = World(number, stage)
        assert world.converges(), f"killed {stage} call {number}: {world.journal.recovery}"
        recovery = world.journal.recovery
        assert recovery is not None
        assert (recovery.survivor, recovery.consumed) == (C, ("t-1",))
        assert world.seated == (C,)
        assert world.pods.keys() == world.volumes.keys() == {C}
        assert A not in world.pods
        count += 1
    assert count > 15


@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_survivor_that_is_lost_at_any_moment_is_replaced_by_the_next_best(stage: Stage) -> None:
    """At each turn of an undisturbed recovery; and the operator is killed at many a call as well."""
    undisturbed = World(-1, "before")
    assert undisturbed.converges()
    outcomes = set()
    for lose_at in range(undisturbed.turns):
        for crash_at in (-1, *range(0, undisturbed.calls, 5)):
            world = World(crash_at, stage, lose_at)
            assert world.converges(), (
                f"lost at {lose_at}, killed {stage} {crash_at}: {world.journal.recovery}"
            )
            recovery = world.journal.recovery
            assert recovery is not None
            outcomes.add(recovery.survivor)
            if C in world.volumes and not world.volumes[C].terminating:
                continue
            assert world.seated == (recovery.survivor,)
    assert B in outcomes
