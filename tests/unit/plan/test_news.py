"""What is told when it has become so."""

from dataclasses import replace
from typing import Any

from app.api.status import ClusterStatus
from app.plan.observed import Observed
from app.plan.refusal import refuse
from app.plan.step import Plan
from tests.unit.plan.looks import (
    CLUSTER,
    EPHEMERAL,
    MEMBERS,
    NOW,
    PERSISTENT,
    A,
    B,
    C,
    answer,
    decide,
    latched,
    look,
    pod,
)
from tests.unit.plan.seats import sized, with_learner

PAUSED = EPHEMERAL.model_copy(update={"paused": True})


def reasons(*decisions: Plan) -> list[str]:
    return [event.reason for decision in decisions for event in decision.events]


def with_status(seen: Observed, decision: Plan, **changes: Any) -> Observed:
    """The look after a decision was written down."""
    return replace(seen, status=decision.status, **changes)


def test_I3_a_pause_and_its_end_are_told_once() -> None:
    seen = look(latched(), pods=MEMBERS, answering=MEMBERS)
    first = decide(seen, PAUSED)
    again = decide(with_status(seen, first), PAUSED)
    over = decide(with_status(seen, again))

    assert reasons(first) == ["Paused"]
    assert reasons(again) == []
    assert reasons(over) == ["Resumed"]


def test_nothing_is_told_as_done_that_is_not_done_while_paused() -> None:
    """The status moves, since an incident began, and no Pod is made anew."""
    seen = look(
        latched(persistent=True),
        pods=[A],
        volumes=MEMBERS,
        answers={A: answer(A, leader="")},
        absent=frozenset({B, C}),
    )

    told = reasons(decide(seen, PERSISTENT.model_copy(update={"paused": True})))

    assert set(told) == {"Paused", "QuorumLost"}


def test_another_leader_is_told() -> None:
    seen = look(latched(), pods=MEMBERS, answering=MEMBERS)
    first = decide(seen)
    moved = with_status(seen, first, answers={name: answer(name, leader=B) for name in MEMBERS})

    second = decide(moved)

    assert reasons(first) == []
    assert [(event.reason, event.note) for event in second.events] == [
        ("LeaderChanged", f"{B} leads, and no longer {A}")
    ]
    assert reasons(decide(with_status(moved, second))) == []


def test_a_spec_that_is_refused_is_told_until_another_one_is() -> None:
    first = refuse(CLUSTER, ClusterStatus(), "spec.size: too many", now=NOW)
    again = refuse(CLUSTER, first.status, "spec.size: too many", now=NOW)
    other = refuse(CLUSTER, again.status, "spec.version: too old", now=NOW)

    assert reasons(first, again, other) == ["SpecInvalid", "SpecInvalid"]
    seen = look(latched(), pods=MEMBERS, answering=MEMBERS)
    healed = decide(seen, invalid="spec.size: too many")
    assert reasons(healed) == ["SpecInvalid"]
    assert reasons(decide(with_status(seen, healed), invalid="spec.size: too many")) == []


def test_a_learner_on_its_way_is_growth_and_no_trouble() -> None:
    decision = decide(with_learner(latched(), lag=5000), sized(4))

    said = {one.type: (one.status, one.reason, one.message) for one in decision.status.conditions}
    assert said["Available"][2].startswith("3 of 3 members are ready, 2 are needed; ")
    assert said["Degraded"][:2] == ("False", "AllMembersReady")
    assert said["Progressing"][:2] == ("True", "ScalingUp")
    assert said["Ready"][:2] == ("False", "SizeDiffers")
    assert said["Ready"][2] == "Current cluster size: 4 (1 of them a learner), desired cluster size: 4"


def test_a_pod_that_is_being_deleted_has_not_crashed() -> None:
    """Its container ended as it was told to, which the kubelet reports as an end like any other."""
    seen = look(latched(), pods=MEMBERS, answering=[A, B])
    trouble = ("MemberCrashed", "etcd ended with exit code 0 (Completed), restarts: 0")
    going = pod(C, latched(), terminating=True, running=False, ready=False, trouble=trouble)

    decision = decide(replace(seen, pods={**seen.pods, C: going}))

    said = next(one for one in decision.status.conditions if one.type == "Degraded")
    assert (said.reason, said.message) == ("MembersUnready", f"not ready: {C} (Terminating)")
