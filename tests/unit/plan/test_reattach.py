"""Claims that outlived an earlier cluster of this name, and the order to go on with them."""

from dataclasses import replace
from typing import Any

import pytest

from app.api.status import Journal
from app.plan.actions import CreatePod, SetRetention
from app.plan.observed import Observed, Order
from app.plan.recovery.orders import ADOPT, read_order
from app.plan.starting import CLUSTER_ID, INITIAL_STATE
from tests.unit.plan.looks import (
    EPHEMERAL,
    IDENTITY,
    MEMBERS,
    PERSISTENT,
    A,
    B,
    C,
    condition,
    decide,
    latched,
    look,
    volume,
)
from tests.unit.plan.outages import message, of

SERVED = latched(persistent=True)
ID = f"{IDENTITY.cluster_id:x}"


def retained(**changes: Any) -> Observed:
    """A cluster that was made anew beside the claims of its predecessor."""
    claims = {name: volume(name, SERVED, retained=True) for name in MEMBERS}
    names = tuple(f"PersistentVolumeClaim/{name}" for name in claims)
    return replace(look(Journal(), existing_data=names, former_volumes=claims), **changes)


def test_F7_retained_data_is_told_with_the_way_to_go_on_with_it() -> None:
    decision = decide(retained(), PERSISTENT)

    assert condition(decision, "Available") == ("False", "ExistingDataFound")
    assert f"{ADOPT}={ID}" in message(decision, "Available")
    assert of(decision, SetRetention, CreatePod) == []
    assert read_order({ADOPT: f" {ID} "}) == Order(adopt=ID)


@pytest.mark.parametrize("retain", [False, True])
def test_F7_by_its_cluster_id_it_becomes_this_clusters_and_the_members_come_back(retain: bool) -> None:
    spec = PERSISTENT.model_copy(update={"data_retention": "Retain" if retain else "Delete"})
    ordered = retained(order=Order(adopt=ID))

    taking = decide(ordered, spec)
    assert {one.name: one.retain for one in of(taking, SetRetention)} == dict.fromkeys(MEMBERS, retain)
    assert taking.status.journal.bootstrap is None
    assert of(taking, CreatePod) == []

    ours = {name: volume(name, SERVED) for name in MEMBERS}
    taken = replace(look(Journal()), volumes=ours)
    recalled = decide(taken, spec).status.journal
    assert recalled.latch is not None
    assert recalled.latch.cluster_id == ID
    back = decide(replace(look(recalled, absent=frozenset(MEMBERS)), volumes=ours), spec)
    assert {one.annotations[INITIAL_STATE] for one in of(back, CreatePod)} == {"existing"}
    assert {one.member for one in of(back, CreatePod)} == set(MEMBERS)


def test_F7_what_was_begun_is_ended_before_a_record_is_read_also_without_the_order() -> None:
    """One claim of three was taken over when the operator died: one member is no cluster."""
    seen = retained()
    rest = {name: seen.former_volumes[name] for name in (B, C)}
    half = replace(seen, volumes={A: volume(A, SERVED)}, former_volumes=rest)

    decision = decide(half, PERSISTENT)

    assert {one.name for one in of(decision, SetRetention)} == {B, C}
    assert decision.status.journal.latch is None


@pytest.mark.parametrize(
    "changes",
    [
        {"order": Order(adopt="abc")},
        {"order": Order(adopt=ID), "fading": (f"Pod/{A}",)},
        {"order": Order(adopt=ID), "conflicts": ("Service/c",)},
    ],
    ids=["another id", "a member may still run", "a name is taken"],
)
def test_F7_nothing_is_taken_over_without_its_order_or_beside_what_is_left(changes: dict[str, Any]) -> None:
    assert of(decide(retained(**changes), PERSISTENT), SetRetention, CreatePod) == []


def test_F7_a_cluster_without_claims_takes_none_over() -> None:
    decision = decide(retained(order=Order(adopt=ID)), EPHEMERAL)

    assert of(decision, SetRetention, CreatePod) == []
    assert "adopt-data" not in message(decision, "Available")


def test_F7_only_the_claims_of_that_cluster_are_taken_over() -> None:
    seen = retained(order=Order(adopt=ID))
    other = replace(seen.former_volumes[C], annotations={CLUSTER_ID: "1234"})
    mixed = replace(seen, former_volumes={**seen.former_volumes, C: other})

    assert {one.name for one in of(decide(mixed, PERSISTENT), SetRetention)} == {A, B}
