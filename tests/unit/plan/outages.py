"""Looks at a cluster of three on claims that has lost its quorum, and at the steps of its recovery."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from app.api.status import Incident, Journal, Recovery
from app.etcd import identity
from app.plan.observed import Helper, Observed, Order, PodFacts, Task
from app.plan.step import Plan
from tests.unit.plan.looks import IDENTITY, MEMBERS, A, B, C, actions, answer, latched, look, pod

HELPERS = frozenset(task.pod(member) for member in MEMBERS for task in Task)


def lost_journal(token: str = "t-1", **recovery: Any) -> Journal:
    """The journal of a cluster of three on claims in its first incident."""
    update: dict[str, Any] = {"incident": Incident(token=token, number=1)}
    if recovery:
        made = {"token": token, "consumed": (token,), "candidates": MEMBERS, **recovery}
        update["recovery"] = Recovery(**made)
    return latched(persistent=True).model_copy(update=update)


def outage(journal: Journal, *, order: Order = Order(), **changes: Any) -> Observed:  # noqa: B008 - frozen
    """Two of three lost their claims and Pods; the third runs and has no quorum."""
    seen = look(
        journal,
        pods=[C],
        volumes=[C],
        absent=frozenset({A, B}),
        absent_volumes=frozenset({A, B}),
        answers={C: answer(C, leader="")},
        order=order,
        absent_helpers=HELPERS,
    )
    seen = replace(seen, pods={C: pod(C, journal, ready=False, started=True)})
    return replace(seen, **changes)


def stopped(journal: Journal, *, claims: Iterable[str] = MEMBERS, **changes: Any) -> Observed:
    """No member runs; some claims are there."""
    names = tuple(claims)
    seen = look(
        journal,
        volumes=names,
        absent=frozenset(MEMBERS),
        absent_volumes=frozenset(MEMBERS) - frozenset(names),
        absent_helpers=HELPERS,
    )
    return replace(seen, **changes)


def helper(member: str, task: Task, *, said: str = "", phase: str = "Succeeded", **changes: Any) -> Helper:
    """A Pod that does one task beside a claim."""
    facts = PodFacts(name=task.pod(member), uid=f"{task}-{member}", resource_version="9", phase=phase)
    return replace(Helper(facts, member, task, "t-1", said), **changes)


def words(member: str, term: int, index: int, *, tail: str = "clean", cluster: str = "") -> str:
    """The last words of a Pod that has read a log."""
    said = {
        "clusterID": cluster or identity.text(IDENTITY.cluster_id),
        "memberID": identity.text(IDENTITY.member_ids[member]),
        "term": term,
        "index": index,
        "commit": index,
        "tail": tail,
    }
    return json.dumps(said)


def inspected(reach: dict[str, tuple[int, int]], **changes: Any) -> dict[str, Helper]:
    """Pods that have read logs as far as they reach."""
    return {
        Task.INSPECT.pod(name): helper(name, Task.INSPECT, said=words(name, *found, **changes))
        for name, found in reach.items()
    }


def step(decision: Plan) -> str:
    """The step that the recovery is at."""
    recovery = decision.status.journal.recovery
    return recovery.step if recovery else ""


def of(decision: Plan, *kinds: type[Any]) -> list[Any]:
    """The actions of these kinds."""
    return [action for action in actions(decision) if isinstance(action, kinds)]


def message(decision: Plan, kind: str) -> str:
    """The message of a condition."""
    return next(one.message for one in decision.status.conditions if one.type == kind)
