"""A change that the leader refuses for no good reason is sent through another member."""

from typing import Any

import pytest

from app.api.status import Intent, Journal
from app.plan.actions import AddMember, RemoveMember
from app.plan.membership.ways import LEADER_SECONDS
from app.plan.observed import Observed
from app.plan.symptoms import refused, symptoms
from tests.unit.plan.looks import A, B, C, decide, latched
from tests.unit.plan.seats import NEW, changes_of, seat, seated, sized

ADD = Intent(action="Add", member=NEW)


def tried(intent: Intent, *, seconds: float, **changes: Any) -> Observed:
    """A look at three healthy members, A leading, of which one was asked for a change so long ago."""
    journal: Journal = latched().model_copy(update={"intent": intent, "next_index": 9})
    seen = seated(journal, **changes)
    assert refused(intent) in symptoms(seen)
    ages = {**seen.ages, refused(intent): seconds}
    return seated(journal, **{**changes, "ages": ages})


def asked(observed: Observed, size: int) -> str:
    """The member that a change is sent through."""
    (change,) = changes_of(decide(observed, sized(size)))
    assert isinstance(change, AddMember | RemoveMember)
    (name,) = [name for name in (A, B, C) if seat(name).id == change.via.member_id]
    assert change.via.address == observed.pods[name].ip
    return name


@pytest.mark.parametrize("seconds", [0.0, LEADER_SECONDS - 0.1])
def test_the_leader_is_asked_as_long_as_it_may_have_a_reason(seconds: float) -> None:
    assert asked(tried(ADD, seconds=seconds), 5) == A


def test_then_each_voter_is_asked_in_turn() -> None:
    turns = [asked(tried(ADD, seconds=LEADER_SECONDS + second), 5) for second in range(6)]
    assert set(turns[:3]) == set(turns[3:]) == {A, B, C}


def test_no_member_is_asked_to_remove_itself() -> None:
    removal = Intent(action="Remove", member=B, id=f"{seat(B).id:x}")
    turns = {asked(tried(removal, seconds=LEADER_SECONDS + second), 2) for second in range(4)}
    assert turns == {A, C}


def test_a_change_that_is_new_goes_to_the_leader_whatever_was_refused_before() -> None:
    assert asked(tried(Intent(action="Add", member=NEW), seconds=60.0), 2) == A
