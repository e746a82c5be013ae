"""How many members an eviction must leave."""

from typing import Any

import pytest

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.actions import DeleteBudget, EnsureBudget
from app.plan.budget import least_available, protect
from app.plan.observed import BudgetFacts
from tests.unit.plan.looks import EPHEMERAL, MEMBERS, PERSISTENT, decide, latched, look

OURS = BudgetFacts(name="c", uid="b", resource_version="1", ours=True, selects=True, min_available=2)
THEIRS = BudgetFacts(name="theirs", uid="t", resource_version="1", ours=False, selects=True)


def sized(size: int, spec: ClusterSpec = PERSISTENT, **changes: Any) -> ClusterSpec:
    return spec.model_copy(update={"size": size, **changes})


def listing(*members: str) -> Journal:
    journal = latched()
    assert journal.latch is not None
    return journal.model_copy(update={"latch": journal.latch.model_copy(update={"roster": members})})


def settled(*budgets: BudgetFacts, journal: Journal | None = None) -> Any:
    return look(
        journal or latched(persistent=True),
        pods=MEMBERS,
        volumes=MEMBERS,
        answering=MEMBERS,
        budgets=budgets,
    )


def budget_of(observed: Any, spec: ClusterSpec = PERSISTENT) -> Any:
    return protect(observed, spec, observed.status.journal)


@pytest.mark.parametrize(("size", "floor"), [(3, 2), (4, 3), (5, 3), (6, 4), (7, 4)])
def test_H2_the_floor_is_a_quorum(size: int, floor: int) -> None:
    members = tuple(f"m{number}" for number in range(size))
    assert least_available(sized(size), listing(*members)) == floor
    assert least_available(sized(size, EPHEMERAL), listing(*members)) == floor


def test_H2_after_growing_from_three_to_five_the_floor_is_three() -> None:
    # From the moment on that five are asked for.
    assert budget_of(settled(OURS), sized(5)).actions == (EnsureBudget(3),)


@pytest.mark.parametrize(("listed", "size", "floor"), [(5, 3, 3), (4, 3, 3), (4, 5, 3), (3, 1, 2)])
def test_X20_the_floor_is_of_what_is_or_is_to_be_and_counts_learners(
    listed: int, size: int, floor: int
) -> None:
    members = tuple(f"m{number}" for number in range(listed))
    assert least_available(sized(size), listing(*members)) == floor


def test_X20_members_that_are_down_lower_no_floor() -> None:
    left = look(latched(persistent=True), pods=MEMBERS[:2], answering=MEMBERS[:2], budgets=(OURS,))
    assert budget_of(left).actions == ()


@pytest.mark.parametrize("size", [1, 2])
def test_H2_one_or_two_members_can_be_drained_from_claims_and_not_from_an_empty_dir(size: int) -> None:
    members = MEMBERS[:size]
    few = look(listing(*members), pods=members, answering=members, budgets=())

    assert budget_of(few, sized(size)).actions == ()
    assert budget_of(few, sized(size, EPHEMERAL)).actions == (EnsureBudget(size),)


def test_H2_it_is_made_once_the_cluster_serves_and_then_left_alone() -> None:
    assert decide(settled(), PERSISTENT).groups == ((EnsureBudget(2),),)
    assert decide(settled(OURS), PERSISTENT).groups == ()


@pytest.mark.parametrize("changes", [{"min_available": 1}, {"min_available": None}, {"drifted": True}])
def test_H2_what_somebody_edited_is_mended(changes: dict[str, Any]) -> None:
    edited = BudgetFacts(**{**{name: getattr(OURS, name) for name in OURS.__slots__}, **changes})
    assert budget_of(settled(edited)).actions == (EnsureBudget(2),)


def test_H2_it_goes_when_it_is_switched_off_or_not_wanted_any_more() -> None:
    gone = (DeleteBudget("c", "b", "1"),)

    assert budget_of(settled(OURS), sized(3, pod_disruption_budget=False)).actions == gone
    one = look(listing(MEMBERS[0]), pods=MEMBERS[:1], answering=MEMBERS[:1], budgets=(OURS,))
    assert budget_of(one, sized(1)).actions == gone


def test_H2_it_gives_way_to_one_of_the_users_and_says_so_once() -> None:
    first = decide(settled(OURS, THEIRS), PERSISTENT)
    (event,) = first.events

    assert first.groups == ((DeleteBudget("c", "b", "1"),),)
    assert event.reason == "PodDisruptionBudgetGivesWay"
    assert "theirs" in event.note
    again = decide(settled(THEIRS, journal=first.status.journal), PERSISTENT)
    assert (again.groups, again.events) == ((), ())
    # When that one is gone, ours comes back, and the next one is told of again.
    back = decide(settled(journal=first.status.journal), PERSISTENT)
    assert back.groups == ((EnsureBudget(2),),)
    assert decide(settled(OURS, THEIRS, journal=back.status.journal), PERSISTENT).events == (event,)


def test_H2_one_of_the_users_that_selects_no_member_is_nobodys_business() -> None:
    aside = BudgetFacts(name="aside", uid="a", resource_version="1", ours=False)
    assert decide(settled(OURS, aside), PERSISTENT).groups == ()


def test_H2_its_name_may_be_taken() -> None:
    taken = BudgetFacts(name="c", uid="x", resource_version="1", ours=False)
    decision = decide(settled(taken), PERSISTENT)

    assert decision.groups == ()
    assert "has its name" in decision.events[0].note


def test_H2_one_of_an_earlier_cluster_is_waited_for_in_silence() -> None:
    fading = BudgetFacts(name="c", uid="x", resource_version="1", ours=False, selects=True, terminating=True)
    decision = decide(settled(fading), PERSISTENT)
    assert (decision.groups, decision.events) == ((), ())


def test_H2_nothing_is_decided_where_nothing_is_known() -> None:
    assert budget_of(look(latched(), pods=MEMBERS)).actions == ()
    assert budget_of(look(latched(), budgets=())).actions == ()
    assert budget_of(look(latched(), budgets=(OURS,))).actions == ()
