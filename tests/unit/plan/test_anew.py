"""Clusters that have lost all data: told as it is, and founded anew only by the user's word."""

from dataclasses import replace
from typing import Any

import pytest

from app.api.cluster import ClusterSpec
from app.api.status import Incident, Journal, Recovery
from app.plan.actions import CreatePod, CreateVolume, DeletePod, DeleteService, DeleteVolume, Quarantine
from app.plan.observed import ListedMember, Observed, Order, ServiceFacts
from app.plan.starting import INITIAL_STATE
from app.plan.step import Plan
from app.plan.symptoms import NO_QUORUM
from tests.unit.plan.looks import (
    EPHEMERAL,
    FOUNDED,
    IDENTITY,
    MEMBERS,
    PERSISTENT,
    A,
    B,
    C,
    answer,
    condition,
    decide,
    latched,
    look,
    pod,
    volume,
)
from tests.unit.plan.outages import lost_journal, message, of, outage, step, stopped

SERVED = latched().model_copy(update={"incident": Incident(token="t-1", number=1)})
FOLLOWED = SERVED.model_copy(update={"recovery": Recovery(consumed=("anew/t-1",))})
DOOR = ServiceFacts("c-client", "uid-s", "4")
ANEW = Order(anew="t-1")


def gone(journal: Journal = SERVED, **changes: Any) -> Observed:
    """All Pods of a cluster on an emptyDir are gone."""
    return replace(look(journal, absent=frozenset(MEMBERS)), client_service=DOOR, **changes)


def after(seen: Observed, decision: Plan, **changes: Any) -> Observed:
    return replace(seen, status=decision.status, **changes)


def test_A11_X3_all_data_lost_is_told_with_the_way_out_and_nothing_is_founded() -> None:
    first = decide(gone(latched()))
    incident = first.status.journal.incident
    assert incident is not None

    decision = decide(gone(first.status.journal))

    assert condition(decision, "Available") == ("False", "DataLost")
    assert condition(decision, "Stalled") == ("True", "DataLost")
    assert decision.status.phase == "Failed"
    assert f"found-anew={incident.token}" in message(decision, "Available")
    assert of(decision, CreatePod, CreateVolume, DeletePod, DeleteVolume) == []


def test_A11_by_order_the_cluster_is_founded_anew_under_another_id() -> None:
    begun = decide(gone(order=ANEW))
    assert step(begun) == "Discarding"
    assert begun.status.journal.recovery is not None
    assert begun.status.journal.recovery.consumed == ("anew/t-1",)
    assert of(begun, DeleteService, CreatePod) == []

    # Clients are not let in before the new cluster has served.
    closing = decide(after(gone(order=ANEW), begun))
    assert of(closing, DeleteService) == [DeleteService("c-client", "uid-s", "4")]
    assert of(closing, CreatePod) == []

    recorded = decide(after(gone(order=ANEW), begun, client_service=None))
    journal = recorded.status.journal
    assert (journal.latch, journal.incident) == (None, Incident(number=1))
    assert journal.bootstrap is not None
    assert set(journal.bootstrap.members).isdisjoint(MEMBERS)
    assert len(journal.bootstrap.members) == 3
    assert journal.bootstrap.cluster_id != FOUNDED.bootstrap.cluster_id  # type: ignore[union-attr]
    assert of(recorded, CreatePod) == []
    assert condition(recorded, "Recovering") == ("False", "FoundedAnew")

    founding = decide(after(gone(order=ANEW), recorded, client_service=None))
    assert {one.annotations[INITIAL_STATE] for one in of(founding, CreatePod)} == {"new"}
    assert {one.member for one in of(founding, CreatePod)} == set(journal.bootstrap.members)
    assert step(founding) == "Done"


@pytest.mark.parametrize(
    ("seen", "spec"),
    [
        (gone(order=Order(anew="t-0")), EPHEMERAL),
        (gone(order=Order("t-1")), EPHEMERAL),
        (gone(FOLLOWED, order=ANEW), EPHEMERAL),
        (gone(order=ANEW, absent=frozenset({A})), EPHEMERAL),
        (outage(lost_journal(), order=ANEW), PERSISTENT),
        (stopped(lost_journal(step="Fencing"), order=ANEW), PERSISTENT),
        (look(latched(), pods=MEMBERS, answering=MEMBERS, order=ANEW), EPHEMERAL),
    ],
    ids=[
        "of another incident",
        "to recover",
        "followed once",
        "two Pods may be there",
        "a claim is left",
        "a recovery is under way",
        "all is well",
    ],
)
def test_A14_nothing_is_founded_anew_without_its_order_or_beside_data(
    seen: Observed, spec: ClusterSpec
) -> None:
    decision = decide(seen, spec)

    assert step(decision) != "Discarding"
    assert of(decision, CreatePod, DeleteService) == []


def test_a_pod_that_still_runs_is_stopped_before_the_record_is_written() -> None:
    """On an emptyDir without a quorum; a snapshot of what it has is the user's to take before."""
    alone = {C: pod(C, SERVED, ready=False)}
    seen = replace(gone(order=ANEW), pods=alone, absent=frozenset({A, B}), answers={C: answer(C, leader="")})
    told = decide(replace(seen, order=Order()))
    assert condition(told, "Available") == ("False", "QuorumLost")
    assert f"snapshot of {C}" in message(told, "Available")

    begun = decide(seen)
    stopping = decide(after(seen, begun))
    assert [one.name for one in of(stopping, DeletePod)] == [C]
    assert step(stopping) == "Discarding"
    unknown = decide(after(seen, begun, pods={}, client_service=None))
    assert step(unknown) == "Discarding"
    named = replace(seen, order=Order(anew="t-1", fenced=frozenset({C})))
    assert step(decide(after(named, begun, pods={}, client_service=None))) == "Done"


def test_members_that_nobody_knows_of_any_more_are_no_dead_end() -> None:
    """Two of five were gone when the status was lost: the three that are known seem to be enough."""
    pods = {name: pod(name, SERVED, ready=False) for name in (B, C)}
    seen = replace(gone(order=ANEW), pods=pods, absent=frozenset({A}))
    assert step(decide(seen)) == ""
    assert "found-anew" not in message(decide(seen), "Available")

    late = replace(seen, ages={NO_QUORUM: 300.0})
    assert "found-anew=t-1" in message(decide(replace(late, order=Order())), "Available")
    assert step(decide(late)) == "Discarding"


def test_claims_that_cannot_be_read_are_set_aside_and_go_when_the_new_cluster_is_complete() -> None:
    journal = lost_journal(step="Discarding", consumed=("anew/t-1",))
    seen = stopped(journal)
    first = decide(seen, PERSISTENT)
    assert {one.name for one in of(first, Quarantine)} == set(MEMBERS)

    aside = {name: volume(name, journal, quarantined=True) for name in MEMBERS}
    recorded = decide(replace(seen, volumes=aside), PERSISTENT)
    assert step(recorded) == "Done"
    assert of(recorded, DeleteVolume) == []
    bootstrap = recorded.status.journal.bootstrap
    assert bootstrap is not None
    assert set(bootstrap.members).isdisjoint(MEMBERS)

    # Were the status lost now, what is set aside founds nothing and is mounted by nobody.
    forgotten = decide(replace(look(Journal()), volumes=aside), PERSISTENT)
    assert forgotten.status.journal.bootstrap is None
    assert condition(forgotten, "Stalled") == ("True", "ExistingDataFound")


def test_after_a_recovery_that_is_impossible_it_may_be_founded_anew() -> None:
    journal = lost_journal(step="Inspecting", candidates=(C,), abandoned=(C,))
    seen = stopped(journal, claims=(), order=ANEW)

    assert step(decide(seen, PERSISTENT)) == "Discarding"


def crashing(name: str, words: str, journal: Journal = FOUNDED, restarts: int = 2) -> dict[str, Any]:
    return {
        name: pod(name, journal, running=False, ready=False, restarts=restarts, last_words=words),
    }


def test_a_quorum_of_founders_wiped_before_the_latch_is_told_and_can_be_founded_anew() -> None:
    """Etcd does not let them in again, and the one that has its data waits for a quorum for ever."""
    said = "member 1 has already been bootstrapped"
    pods = {**crashing(A, said), **crashing(B, said), C: pod(C, FOUNDED, ready=False)}
    seen = replace(look(FOUNDED), pods=pods)

    first = decide(seen)
    assert condition(first, "Available") == ("False", "DataLost")
    assert [event.reason for event in first.events if event.type == "Warning"] == ["DataLost"]
    incident = first.status.journal.incident
    assert incident is not None
    told = decide(after(seen, first))
    assert f"found-anew={incident.token}" in message(told, "Available")
    assert of(told, DeletePod) == []

    begun = decide(after(seen, told, order=Order(anew=incident.token)))
    assert step(begun) == "Discarding"
    stopping = decide(after(seen, begun))
    assert {one.name for one in of(stopping, DeletePod)} == set(MEMBERS)
    done = decide(after(seen, begun, pods={}, absent=frozenset(MEMBERS)))
    assert done.status.journal.bootstrap is not None
    assert set(done.status.journal.bootstrap.members).isdisjoint(MEMBERS)


def test_one_wiped_founder_or_one_end_is_no_lost_founding() -> None:
    said = "member 1 has already been bootstrapped"
    one = {**crashing(A, said), B: pod(B, FOUNDED), C: pod(C, FOUNDED)}
    assert condition(decide(replace(look(FOUNDED), pods=one)), "Stalled")[0] == "False"

    once = {**crashing(A, said, restarts=1), **crashing(B, said, restarts=1)}
    assert condition(decide(replace(look(FOUNDED), pods=once)), "Stalled")[0] == "False"


def test_founders_that_serve_after_all_end_the_incident() -> None:
    journal = FOUNDED.model_copy(update={"incident": Incident(token="t-1", number=1)})

    decision = decide(replace(look(journal), pods={name: pod(name, journal) for name in MEMBERS}))

    assert decision.status.journal.incident == Incident(number=1)


def test_what_is_left_of_a_former_cluster_goes_once_the_new_one_is_complete() -> None:
    one = PERSISTENT.model_copy(update={"size": 1})
    journal = latched(A, persistent=True)
    assert journal.latch is not None
    journal = journal.model_copy(update={"latch": journal.latch.model_copy(update={"roster": (A,)})})
    seen = look(journal, pods=[A], volumes=[A], answering=[A])
    old = replace(volume(B, journal, quarantined=True), name="old")
    listed = (ListedMember(IDENTITY.member_ids[A], A, "http://a:2380"),)

    decision = decide(replace(seen, volumes={**seen.volumes, "old": old}, members=listed), one)

    assert [one.name for one in of(decision, DeleteVolume)] == ["old"]
