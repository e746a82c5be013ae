"""Looks at a membership as etcd lists it, and what is decided to be changed of it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.actions import (
    AddMember,
    MoveLeader,
    PromoteMember,
    RemoveMember,
)
from app.plan.observed import ListedMember, Observed
from app.plan.step import Plan
from tests.unit.plan.looks import (
    EPHEMERAL,
    IDENTITY,
    MEMBERS,
    URLS,
    A,
    actions,
    answer,
    look,
    pod,
)

NEW = "c-new0000000"
NEW_ID = 77


def sized(size: int, spec: ClusterSpec = EPHEMERAL) -> ClusterSpec:
    return spec.model_copy(update={"size": size})


def seat(member: str, **changes: Any) -> ListedMember:
    found = ListedMember(IDENTITY.member_ids.get(member, NEW_ID), member, URLS.get(member, "http://x:2380"))
    return replace(found, **changes)


def seated(journal: Journal, members: Iterable[ListedMember] = (), **changes: Any) -> Observed:
    """A look with etcd's list; all three founders serve unless the changes say otherwise."""
    seen = look(journal, pods=MEMBERS, answering=MEMBERS)
    return replace(seen, members=tuple(members or (seat(name) for name in MEMBERS)), **changes)


def changes_of(decision: Plan) -> list[Any]:
    kinds = (AddMember, PromoteMember, RemoveMember, MoveLeader)
    return [action for action in actions(decision) if isinstance(action, kinds)]


def with_learner(journal: Journal, *, lag: int = 0, serving: bool = True, **changes: Any) -> Observed:
    """A look at three voters and a learner that was added to them."""
    assert journal.latch is not None
    latch = journal.latch.model_copy(update={"roster": (*MEMBERS, NEW)})
    journal = journal.model_copy(update={"latch": latch})
    seen = seated(journal, [*map(seat, MEMBERS), seat(NEW, learner=True)])
    answers = dict(seen.answers)
    if serving:
        answers[NEW] = replace(answer(A), member_id=NEW_ID, learner=True, raft_applied_index=20 - lag)
    pods = {**seen.pods, NEW: pod(NEW, journal, ready=False)}
    return replace(seen, answers=answers, pods=pods, **changes)
