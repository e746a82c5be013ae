"""The CORRUPT alarm: the right member is replaced, and the alarm is put off."""

from dataclasses import replace

import pytest

from app.etcd import identity
from app.plan.actions import Disarm, RemoveMember
from app.plan.observed import ListedMember, Observed
from tests.unit.plan.looks import (
    IDENTITY,
    MEMBERS,
    PERSISTENT,
    URLS,
    A,
    B,
    C,
    answer,
    condition,
    decide,
    latched,
    look,
    pod,
)
from tests.unit.plan.outages import message, of

JOURNAL = latched(persistent=True)
GONE = 0x77


def alarmed(*ids: int, members: tuple[str, ...] = MEMBERS, answering: tuple[str, ...] = MEMBERS) -> Observed:
    """Members answer and none is ready: with the alarm on, each one's readiness is refused."""
    listed = tuple(ListedMember(IDENTITY.member_ids[name], name, URLS[name]) for name in members)
    seen = look(JOURNAL, pods=members, volumes=members, members=listed)
    return replace(
        seen,
        pods={name: pod(name, JOURNAL, ready=False) for name in members},
        answers={name: answer(name, corrupt=frozenset(ids)) for name in answering},
    )


@pytest.mark.parametrize("bad", MEMBERS)
def test_B11_the_member_that_the_alarm_names_is_removed(bad: str) -> None:
    decision = decide(alarmed(IDENTITY.member_ids[bad]), PERSISTENT)

    (removed,) = of(decision, RemoveMember)
    assert (removed.member, removed.id) == (bad, IDENTITY.member_ids[bad])
    assert of(decision, Disarm) == []
    assert condition(decision, "Available") == ("False", "Corrupt")
    assert bad in message(decision, "Available")


def test_B11_the_alarm_of_a_member_that_is_gone_is_put_off_first() -> None:
    two = tuple(name for name in MEMBERS if name != C)
    seen = alarmed(IDENTITY.member_ids[C], members=two, answering=two)

    decision = decide(seen, PERSISTENT)

    (disarm,) = of(decision, Disarm)
    assert (disarm.id, disarm.via.member_id) == (IDENTITY.member_ids[C], IDENTITY.member_ids[A])
    assert of(decision, RemoveMember) == []
    both = decide(alarmed(GONE, IDENTITY.member_ids[B]), PERSISTENT)
    assert [one.id for one in of(both, Disarm)] == [GONE]
    assert of(both, RemoveMember) == []


def test_B11_without_etcds_own_list_no_alarm_is_put_off() -> None:
    decision = decide(replace(alarmed(GONE), members=None), PERSISTENT)

    assert of(decision, Disarm, RemoveMember) == []
    assert condition(decision, "Available") == ("False", "Corrupt")
    assert identity.text(GONE) in message(decision, "Available")


def test_B11_where_nobody_knows_whose_data_is_right_nobody_is_removed() -> None:
    decision = decide(alarmed(0), PERSISTENT)

    assert of(decision, Disarm, RemoveMember) == []
    assert condition(decision, "Stalled") == ("True", "Corrupt")


def test_B11_no_member_is_removed_at_the_cost_of_the_quorum() -> None:
    seen = alarmed(IDENTITY.member_ids[A], answering=(A, B))

    decision = decide(seen, PERSISTENT)

    assert of(decision, RemoveMember) == []
    assert condition(decision, "Available") == ("False", "Corrupt")


def test_B11_the_only_member_is_not_removed() -> None:
    one = PERSISTENT.model_copy(update={"size": 1})
    seen = alarmed(IDENTITY.member_ids[A], members=(A,), answering=(A,))

    decision = decide(seen, one)

    assert of(decision, RemoveMember) == []
    assert condition(decision, "Stalled") == ("True", "Corrupt")
