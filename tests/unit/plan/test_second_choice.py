"""A survivor that is lost between its choice and the moment at which the cluster serves again."""

from dataclasses import replace
from typing import Any

import pytest

from app.api.status import Journal
from app.plan.actions import CreateHelper, CreatePod, DeletePod, DeleteVolume, Quarantine
from app.plan.observed import Observed, Order, Task
from tests.unit.plan.looks import MEMBERS, PERSISTENT, A, B, C, condition, decide, pod, volume
from tests.unit.plan.outages import (
    HELPERS,
    helper,
    inspected,
    lost_journal,
    message,
    of,
    outage,
    step,
    stopped,
)

ASIDE = tuple(sorted((A, B)))
FORCE = Task.FORCE.pod(C)


def chosen(at: str = "Forcing", **recovery: Any) -> Journal:
    """C was chosen; when it is restarted it is the only member known."""
    journal = lost_journal(step=at, survivor=C, quarantined=ASIDE, **recovery)
    latch = journal.latch
    assert latch is not None
    if at != "Restarting":
        return journal
    recovered = journal.recovery
    assert recovered is not None
    return journal.model_copy(
        update={
            "latch": latch.model_copy(update={"members": {C: latch.members[C]}, "roster": (C,)}),
            "recovery": recovered.model_copy(update={"former": latch}),
        }
    )


def set_aside(journal: Journal, *names: str) -> dict[str, Any]:
    return {"volumes": {name: volume(name, journal, quarantined=name != C) for name in names}}


def aside(journal: Journal, **changes: Any) -> Observed:
    """No member runs, and the claims of the others are set aside."""
    return replace(stopped(journal, **set_aside(lost_journal(), *MEMBERS)), **changes)


def without_claim(journal: Journal) -> Observed:
    seen = stopped(journal, **set_aside(lost_journal(), A, B))
    return replace(seen, absent_volumes=frozenset({C}))


@pytest.mark.parametrize("at", ["Forcing", "Stopping", "Restarting"])
def test_the_logs_of_the_others_are_read_again_when_the_survivors_claim_is_gone(at: str) -> None:
    decision = decide(without_claim(chosen(at)), PERSISTENT)

    journal = decision.status.journal
    assert journal.recovery is not None
    assert journal.latch is not None
    assert (journal.recovery.step, journal.recovery.abandoned) == ("Inspecting", (C,))
    assert set(journal.recovery.candidates) == {A, B}
    assert set(journal.latch.members) == set(journal.latch.roster) == set(MEMBERS)
    assert of(decision, CreateHelper, CreatePod, DeleteVolume) == []
    assert [event.reason for event in decision.events] == ["RecoverySurvivorLost"]
    assert C in message(decision, "Recovering")


@pytest.mark.parametrize(
    "changes",
    [
        {"absent_helpers": HELPERS - {FORCE}},
        {"absent": frozenset({A, B})},
        {"absent_volumes": frozenset()},
    ],
    ids=["the Pod that forces may run", "its own Pod may run", "its claim may be there"],
)
def test_without_proof_nobody_else_is_chosen(changes: dict[str, Any]) -> None:
    decision = decide(replace(without_claim(chosen()), **changes), PERSISTENT)

    assert step(decision) == "Forcing"
    assert of(decision, CreateHelper, CreatePod, DeleteVolume) == []


def test_another_claim_of_its_name_is_a_lost_claim() -> None:
    journal = chosen()
    seen = aside(journal)
    other = replace(seen, volumes={**seen.volumes, C: volume(C, journal, uid="another")})

    assert step(decide(other, PERSISTENT)) == "Inspecting"


def test_one_whose_node_is_off_is_given_up_when_the_user_names_it() -> None:
    journal = chosen()
    stuck = helper(C, Task.FORCE, phase="Pending")
    seen = aside(journal, helpers={FORCE: stuck}, absent_helpers=HELPERS - {FORCE})
    assert step(decide(seen, PERSISTENT)) == "Forcing"
    assert "t-1" in message(decide(seen, PERSISTENT), "Ready")

    other = replace(seen, order=Order("t-0", frozenset({C})))
    assert step(decide(other, PERSISTENT)) == "Forcing"

    named = decide(replace(seen, order=Order("t-1", frozenset({C}))), PERSISTENT)
    assert step(named) == "Inspecting"


def test_one_that_etcd_says_twice_it_cannot_read_is_given_up() -> None:
    said = "panic: invalid database"
    journal = chosen()
    unread = helper(C, Task.FORCE, phase="Failed", said=said)
    first = decide(aside(journal, helpers={FORCE: unread}, absent_helpers=HELPERS - {FORCE}), PERSISTENT)
    assert first.status.journal.recovery is not None
    assert first.status.journal.recovery.unreadable == (unread.pod.uid,)

    journal = first.status.journal
    seen = aside(journal, helpers={FORCE: unread}, absent_helpers=HELPERS - {FORCE})
    again = decide(seen, PERSISTENT)
    assert step(again) == "Forcing"
    assert [one.name for one in of(again, DeletePod)] == [FORCE]
    assert again.status.journal.recovery == journal.recovery

    other = replace(unread, pod=replace(unread.pod, uid="another"))
    twice = decide(replace(seen, helpers={FORCE: other}), PERSISTENT).status.journal
    stopping = decide(aside(twice, helpers={FORCE: other}, absent_helpers=HELPERS - {FORCE}), PERSISTENT)
    assert step(stopping) == "Forcing"
    assert [one.name for one in of(stopping, DeletePod)] == [FORCE]
    assert step(decide(aside(twice), PERSISTENT)) == "Inspecting"


def test_a_failure_that_is_none_of_the_data_is_tried_again_and_costs_nobody_the_choice() -> None:
    journal = chosen()
    failed = helper(C, Task.FORCE, phase="Failed", said="bind: address already in use")

    decision = decide(aside(journal, helpers={FORCE: failed}), PERSISTENT)

    assert decision.status.journal.recovery == journal.recovery
    assert [one.name for one in of(decision, DeletePod)] == [FORCE]


def test_the_next_best_is_taken_out_of_the_quarantine_and_the_one_before_is_not_asked_again() -> None:
    given_up = lost_journal(step="Inspecting", candidates=(A, B, C), abandoned=(C,), quarantined=ASIDE)
    readers = inspected({A: (2, 5), B: (2, 6), C: (9, 9)})
    seen = stopped(given_up, helpers=readers, **set_aside(given_up, *MEMBERS))

    decision = decide(seen, PERSISTENT)

    recovery = decision.status.journal.recovery
    assert recovery is not None
    assert (recovery.step, recovery.survivor) == ("Forcing", B)
    assert recovery.quarantined == tuple(sorted((A, C)))

    forcing = decide(stopped(decision.status.journal, **set_aside(given_up, *MEMBERS)), PERSISTENT)
    marks = {(one.name, one.token) for one in of(forcing, Quarantine)}
    assert marks == {(B, ""), (C, "t-1")}
    assert of(forcing, CreateHelper) == []


def test_a_claim_that_is_being_deleted_is_not_waited_for_and_no_pod_keeps_it() -> None:
    journal = chosen()
    going = {**aside(journal).volumes, C: volume(C, journal, terminating=True)}
    waiting = helper(C, Task.FORCE, phase="Pending")

    decision = decide(stopped(journal, volumes=going, helpers={FORCE: waiting}), PERSISTENT)
    assert [one.name for one in of(decision, DeletePod)] == [FORCE]

    reading = lost_journal(step="Inspecting")
    readers = inspected({A: (1, 1), B: (1, 2)})
    other = decide(stopped(reading, volumes=going, helpers=readers), PERSISTENT)
    assert other.status.journal.recovery is not None
    assert other.status.journal.recovery.survivor == B

    restarting = chosen("Restarting")
    seen = stopped(restarting, volumes=going, pods={C: pod(C, restarting, running=False, ready=False)})
    assert [one.name for one in of(decide(seen, PERSISTENT), DeletePod)] == [C]


def test_with_no_choice_left_the_status_says_what_can_be_done() -> None:
    journal = lost_journal(step="Inspecting", candidates=(C,), abandoned=(C,))

    decision = decide(stopped(journal, claims=()), PERSISTENT)

    assert condition(decision, "Stalled") == ("True", "RecoveryImpossible")
    assert "found-anew=t-1" in message(decision, "Stalled")


def test_claims_that_were_set_aside_are_the_last_resort_of_a_second_outage() -> None:
    """The survivor lost its claim while the cluster grew back: what was set aside is all there is."""
    first = chosen("Restarting").model_copy(update={"incident": None})
    assert first.recovery is not None
    growing = first.model_copy(update={"recovery": first.recovery.model_copy(update={"step": "Growing"})})
    seen = replace(
        stopped(growing, **set_aside(lost_journal(), A, B)),
        absent=frozenset({C}),
        absent_volumes=frozenset({C}),
    )
    told = decide(seen, PERSISTENT)
    assert condition(told, "Available") == ("False", "QuorumLost")
    assert told.status.journal.incident is not None
    token = told.status.journal.incident.token
    assert token != "t-1"
    assert of(told, DeleteVolume) == []

    begun = decide(
        replace(seen, status=told.status, order=Order(token)),
        PERSISTENT,
    ).status.journal
    assert begun.recovery is not None
    assert begun.latch is not None
    assert (begun.recovery.step, begun.recovery.consumed) == ("Fencing", ("t-1", token))
    assert set(begun.recovery.candidates) == {A, B}
    assert set(begun.latch.roster) == set(MEMBERS)
    # The order of the first outage, left in Git, does nothing.
    left = decide(replace(seen, status=told.status, order=Order("t-1")), PERSISTENT)
    assert step(left) == "Growing"


def test_an_outage_without_a_recovery_has_no_second_choice() -> None:
    assert step(decide(outage(lost_journal()), PERSISTENT)) == ""
