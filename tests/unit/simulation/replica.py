"""A replica of the operator that leads: looks, decides, writes the status, acts; one call at a step.

It does what `app.controllers.cluster`, `app.observe.cluster` and `app.act.cluster` do, without a loop.
Between any two steps it may be stopped for good, which is a crash.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from app.controllers.patience import Patience
from app.controllers.stopwatch import Stopwatch
from app.plan import gauges
from app.plan.actions import (
    Action,
    AddMember,
    Annotate,
    CreateHelper,
    CreatePod,
    CreateVolume,
    DeleteBudget,
    DeletePod,
    DeleteService,
    DeleteVolume,
    Deletion,
    EnsureBudget,
    EnsureService,
    MoveLeader,
    PromoteMember,
    Quarantine,
    RemoveMember,
)
from app.plan.cluster import plan
from app.plan.founding.bootstrap import founders_in_doubt
from app.plan.membership.changes import CALL_SECONDS
from app.plan.observed import Answer, ClusterRef, ListedMember, Observed, PodFacts, Task, VolumeFacts
from app.plan.recovery.orders import exclusive
from app.plan.revision import revision
from app.plan.roster import roster
from app.plan.symptoms import symptoms
from tests.unit.simulation import asking, helpers
from tests.unit.simulation.asking import FailedError, Outcome
from tests.unit.simulation.server import (
    BUDGETS,
    CLUSTERS,
    HELPERS,
    PODS,
    SERVICES,
    VOLUMES,
    Cache,
    ConflictError,
    Custom,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.api.status import Journal
    from app.plan.step import Plan
    from tests.unit.simulation.kubelet import Kubelet
    from tests.unit.simulation.server import Server

KEY = "ns/c"
EPOCH = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
UID = "uid-1"


@dataclass(slots=True)
class Turn:
    """A decision that is being carried out."""

    custom: Custom
    observed: Observed
    decision: Plan
    recorded: bool = False
    groups: list[list[Action]] = field(default_factory=list)
    failed: bool = False


class Replica:
    """Leads from the moment it is made."""

    def __init__(
        self,
        server: Server,
        kubelet: Kubelet,
        clock: Callable[[], float],
        *,
        decided: Callable[[Replica, Turn], None],
        acting: Callable[[Turn, Action], None],
    ) -> None:
        """``decided`` and ``acting`` are told of each decision and of each action before it is done."""
        self.cache = Cache(server)
        self.turn: Turn | None = None
        self.requeue_after = 0.0
        self.late: tuple[float, Action, Turn] | None = None
        self._server = server
        self._kubelet = kubelet
        self._clock = clock
        self._decided = decided
        self._acting = acting
        self._since = clock()
        self._stopwatch = Stopwatch(clock=clock)
        self._patience = Patience(clock=clock)
        self._gauges = float("-inf")
        self._written: dict[str, int] = {}

    def step(self, pick: int = 0, outcome: Outcome = Outcome.ANSWERED) -> None:
        """Make the next call; ``pick`` chooses among the actions of one group, which run at once."""
        if self.turn is None:
            self._look()
        elif not self.turn.recorded:
            self._record(self.turn, outcome)
        else:
            self._act(self.turn, pick, outcome)

    def _look(self) -> None:
        self.cache.wait_for(self._written)
        custom: Custom = self.cache.objects[CLUSTERS][self._server.name]
        observed = self._observe(custom)
        observed = replace(
            observed,
            ages=self._stopwatch.time(KEY, symptoms(observed)),
            leading_for=self._clock() - self._since,
            gauges_due=self._clock() - self._gauges >= gauges.SECONDS,
        )
        self._patience.ready(KEY, [pod.name for pod in observed.pods.values() if pod.ready])
        now = EPOCH + timedelta(seconds=self._clock())
        decision = plan(observed, custom.spec, now=now)
        self.turn = Turn(custom, observed, decision, groups=[list(group) for group in decision.groups])
        self._decided(self, self.turn)

    def _observe(self, custom: Custom) -> Observed:
        journal = custom.status.journal
        pods: dict[str, PodFacts] = dict(self.cache.objects[PODS])
        for name in founders_in_doubt(journal, custom.spec):
            pods.pop(name, None)
            if name in self._server.pods:
                pods[name] = self._server.pods[name]
        volumes = dict(self.cache.objects[VOLUMES])
        absent: frozenset[str] = frozenset()
        absent_volumes: frozenset[str] = frozenset()
        if journal.latch is not None or exclusive(journal):
            names = set(roster(journal))
            missing = names - pods.keys()
            bereft = (missing | {name for name, pod in pods.items() if pod.terminal}) - volumes.keys()
            absent = frozenset(missing - self._server.pods.keys())
            absent_volumes = frozenset((bereft & names) - self._server.volumes.keys())
        answers, listed = self._ask(pods)
        return Observed(
            cluster=ClusterRef(name=self._server.name, namespace="ns", uid=UID, generation=custom.generation),
            status=custom.status,
            pods=pods,
            volumes=volumes,
            services=frozenset(self.cache.objects[SERVICES]),
            client_service=self.cache.objects[SERVICES].get(f"{self._server.name}-client"),
            order=self._server.order,
            helpers=helpers.heard(self._kubelet, self.cache.objects[HELPERS]),
            absent_helpers=self._absent_helpers(journal),
            budgets=tuple(self.cache.objects[BUDGETS].values()),
            answers=answers,
            members=listed,
            learners_known=self._learners_known(pods, answers),
            unseen=self._unseen(pods, volumes) if journal.bootstrap is None else (),
            absent=absent,
            absent_volumes=absent_volumes,
            waits=self._patience.waits(KEY),
        )

    def _unseen(self, pods: Mapping[str, PodFacts], volumes: Mapping[str, VolumeFacts]) -> tuple[str, ...]:
        """What a live list shows and the caches lack."""
        kinds = ((self._server.pods, pods), (self._server.volumes, volumes))
        return tuple(
            name
            for live, seen in kinds
            for name, one in live.items()
            if name not in seen and not one.terminating
        )

    def _absent_helpers(self, journal: Journal) -> frozenset[str]:
        if not exclusive(journal):
            return frozenset()
        every = {task.pod(member) for member in roster(journal) for task in Task}
        return frozenset(every - self._server.objects[HELPERS].keys() - self.cache.objects[HELPERS].keys())

    def _ask(self, pods: Mapping[str, PodFacts]) -> tuple[dict[str, Answer], tuple[ListedMember, ...] | None]:
        answers: dict[str, Answer] = {}
        listed = None
        etcd = self._kubelet.etcd
        for pod in pods.values():
            if not pod.ip or not pod.running or pod.terminal:
                continue
            process = self._kubelet.at(pod.ip)
            said = asking.answer(etcd, process)
            if said is None or process is None:
                continue
            answers[pod.name] = said
            if listed is None and said.leader:
                listed = asking.members(etcd, process)
        return answers, listed

    def _learners_known(
        self, pods: Mapping[str, PodFacts], answers: Mapping[str, Answer]
    ) -> Mapping[str, frozenset[int]]:
        """What each member itself lists, which may be behind; a learner lists nothing."""
        found: dict[str, frozenset[int]] = {}
        for name, said in answers.items():
            process = self._kubelet.at(pods[name].ip)
            if process is not None and process.data is not None and not said.learner:
                listed = asking.listed(process.data.state)
                found[name] = frozenset(member.id for member in listed if member.learner)
        return found

    def _record(self, turn: Turn, outcome: Outcome) -> None:
        try:
            self._call(
                CLUSTERS, lambda: self._server.write_status(turn.custom, turn.decision.status), outcome
            )
        except (ConflictError, FailedError):
            self.turn = None
            return
        if turn.observed.gauges_due and turn.decision.status != turn.custom.status:
            self._gauges = self._clock()
        for action in (action for group in turn.groups for action in group):
            if isinstance(action, DeletePod):
                self._patience.tried(KEY, action.name)
        turn.recorded = True
        self._finish(turn)

    def _act(self, turn: Turn, pick: int, outcome: Outcome) -> None:
        group = turn.groups[0]
        action = group.pop(pick % len(group))
        self._acting(turn, action)
        try:
            self._do(turn, action, outcome)
        except ConflictError:
            pass  # another object than the one that was meant
        except FailedError:
            turn.failed = True
            if outcome is Outcome.LATE:
                self.late = (self._clock() + CALL_SECONDS, action, turn)
        self._finish(turn)

    def arrive(self) -> None:
        """Let a call of this replica that was lost be carried out after all, while it can still be."""
        if self.late is None:
            return
        until, action, turn = self.late
        self.late = None
        if self._clock() < until:
            with contextlib.suppress(ConflictError, FailedError):
                self._do(turn, action, Outcome.ANSWERED)

    def _finish(self, turn: Turn) -> None:
        while turn.groups and not turn.groups[0]:
            del turn.groups[0]
            if turn.failed:
                turn.groups.clear()
        if not turn.groups:
            self.turn = None
            self.requeue_after = turn.decision.requeue_after

    def _do(self, turn: Turn, action: Action, outcome: Outcome) -> None:
        server = self._server
        match action:
            case EnsureService():
                self._call(SERVICES, lambda: server.ensure_service(action.name), outcome)
            case EnsureBudget():
                floor = action.min_available
                self._call(BUDGETS, lambda: server.ensure_budget(server.name, floor), outcome)
            case Quarantine():
                self._call(
                    VOLUMES,
                    lambda: server.quarantine(action.name, action.uid, on=bool(action.token)),
                    outcome,
                )
            case CreateVolume():
                self._call(VOLUMES, lambda: server.create_volume(action.member), outcome)
            case CreatePod():
                made_as = revision(turn.custom.spec)
                self._call(PODS, lambda: server.create_pod(action, made_as), outcome)
            case Annotate():
                self._call(
                    action.kind,
                    lambda: server.annotate(action.kind, action.name, action.uid, action.annotations),
                    outcome,
                )
            case CreateHelper():
                self._call(HELPERS, lambda: helpers.create(server, action), outcome)
            case DeletePod() | DeleteVolume() | DeleteService() | DeleteBudget():
                self._delete(action, outcome)
            case AddMember() | PromoteMember() | RemoveMember() | MoveLeader():
                process = self._kubelet.at(action.via.address)
                asking.change(self._kubelet.etcd, process, action, outcome)
            case _:
                raise NotImplementedError(f"nothing in this world asks for {action}")

    def _delete(self, action: Deletion, outcome: Outcome) -> None:
        name, uid, seen = action.name, action.uid, action.resource_version
        if isinstance(action, DeletePod | DeleteVolume):
            kind = PODS if isinstance(action, DeletePod) else VOLUMES
            delete = self._server.delete
        else:
            kind = BUDGETS if isinstance(action, DeleteBudget) else SERVICES
            delete = self._server.delete_at_once
        self._call(kind, lambda: delete(kind, name, uid=uid, resource_version=seen), outcome)

    def _call(self, kind: str, send: Callable[[], object], outcome: Outcome) -> None:
        """Send a write to the API server; what was answered is waited for before the next look."""
        if outcome in {Outcome.LOST_BEFORE, Outcome.LATE}:
            raise FailedError("no answer")
        send()
        if outcome is Outcome.LOST_AFTER:
            raise FailedError("no answer")
        self._written[kind] = len(self._server.log[kind])
