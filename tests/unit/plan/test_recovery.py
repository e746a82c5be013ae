"""Recovery from a lost quorum: each step, what it waits for, and what it never does."""

from dataclasses import replace
from typing import Any

import pytest

from app.api.status import Incident, Journal
from app.plan.actions import CreateHelper, CreatePod, DeletePod, DeleteVolume, Quarantine
from app.plan.observed import Answer, Helper, ListedMember, Observed, Order, Task
from app.plan.recovery.orders import FENCED, FORCE, read_order
from app.plan.starting import INITIAL_STATE
from app.plan.step import Plan
from tests.unit.plan.looks import (
    EPHEMERAL,
    IDENTITY,
    MEMBERS,
    PERSISTENT,
    A,
    B,
    C,
    actions,
    answer,
    condition,
    decide,
    latched,
    look,
    pod,
    volume,
)
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
    words,
)


def test_an_outage_gets_a_token_that_stays_and_ends_with_it() -> None:
    first = decide(outage(latched(persistent=True)), PERSISTENT)
    incident = first.status.journal.incident
    assert incident is not None
    assert incident.number == 1
    assert [event.reason for event in first.events] == ["QuorumLost"]
    assert incident.token in message(first, "Available")
    assert of(first, DeletePod, DeleteVolume) == []

    again = decide(outage(first.status.journal), PERSISTENT)
    assert again.status.journal.incident == incident
    assert again.events == ()

    back = look(first.status.journal, pods=MEMBERS, volumes=MEMBERS, answering=MEMBERS)
    over = decide(back, PERSISTENT)
    assert over.status.journal.incident == Incident(token="", number=1)

    second = decide(outage(over.status.journal), PERSISTENT).status.journal.incident
    assert second is not None
    assert second.number == 2
    assert second.token not in {"", incident.token}


def test_an_order_is_read_from_annotations() -> None:
    assert read_order({}) == Order()
    assert read_order({FORCE: " t ", FENCED: "a, b,"}) == Order("t", frozenset({"a", "b"}))


def test_A13_an_order_by_the_incidents_name_begins_and_is_consumed_before_anything_is_done() -> None:
    decision = decide(outage(lost_journal(), order=Order("t-1")), PERSISTENT)

    recovery = decision.status.journal.recovery
    assert recovery is not None
    assert (recovery.step, recovery.consumed, recovery.candidates) == ("Fencing", ("t-1",), (C,))
    assert actions(decision) == []
    assert condition(decision, "Recovering") == ("True", "Fencing")


@pytest.mark.parametrize(
    ("journal", "order"),
    [
        (lost_journal(), Order("other")),
        (lost_journal(step="Done", consumed=("t-0", "t-1")), Order("t-1")),
        (lost_journal(step="Done", consumed=("t-0",)), Order("t-0")),
    ],
    ids=["wrong", "consumed", "of an incident before"],
)
def test_an_order_for_another_incident_is_told_and_ignored(journal: Journal, order: Order) -> None:
    decision = decide(outage(journal, order=order), PERSISTENT)

    assert step(decision) == (journal.recovery.step if journal.recovery else "")
    assert of(decision, DeletePod) == []
    assert condition(decision, "Recovering") == ("False", "OrderIgnored")


def test_an_order_without_an_outage_does_nothing() -> None:
    healthy = look(latched(persistent=True), pods=MEMBERS, volumes=MEMBERS, answering=MEMBERS)

    decision = decide(replace(healthy, order=Order("t-1")), PERSISTENT)

    assert step(decision) == ""
    assert condition(decision, "Recovering") == ("False", "OrderIgnored")


def test_nothing_begins_on_an_empty_dir_or_while_paused_or_with_the_last_claim_going() -> None:
    order = Order("t-1")
    assert step(decide(outage(lost_journal(), order=order), EPHEMERAL)) == ""
    paused = PERSISTENT.model_copy(update={"paused": True})
    assert step(decide(outage(lost_journal(), order=order), paused)) == ""
    going = {C: volume(C, lost_journal(), terminating=True)}
    assert step(decide(outage(lost_journal(), order=order, volumes=going), PERSISTENT)) == ""


def test_a_member_that_may_run_elsewhere_has_to_be_named_by_the_user() -> None:
    """Its claim is there and its Pod never ran: on its old node, which is gone, etcd may still run."""
    journal = lost_journal()
    seen = outage(journal, volumes={name: volume(name, journal) for name in (B, C)})
    seen = replace(
        seen,
        absent_volumes=frozenset({A}),
        pods={**seen.pods, B: pod(B, journal, running=False, ready=False, phase="Pending")},
    )

    refused = decide(replace(seen, order=Order("t-1")), PERSISTENT)
    assert step(refused) == ""
    assert B in message(refused, "Recovering")

    named = decide(replace(seen, order=Order("t-1", frozenset({B}))), PERSISTENT)
    recovery = named.status.journal.recovery
    assert recovery is not None
    assert (recovery.step, recovery.fenced, recovery.candidates) == ("Fencing", (B,), (C,))


def test_a_learner_is_no_survivor() -> None:
    learner = {C: answer(C, leader="", learner=True)}
    assert step(decide(outage(lost_journal(), order=Order("t-1"), answers=learner), PERSISTENT)) == ""


def test_fencing_stops_every_member_and_waits_for_proof() -> None:
    journal = lost_journal(step="Fencing", candidates=(C,))

    stopping = decide(outage(journal), PERSISTENT)
    assert [action.name for action in of(stopping, DeletePod)] == [C]
    assert of(stopping, CreatePod) == []

    terminating = outage(journal)
    terminating = replace(terminating, pods={C: replace(terminating.pods[C], terminating=True)})
    assert actions(decide(terminating, PERSISTENT)) == []
    # The cache lacks it, and nobody has asked the API server yet.
    unproved = outage(journal, pods={})
    assert step(decide(unproved, PERSISTENT)) == "Fencing"

    done = decide(outage(journal, pods={}, absent=frozenset(MEMBERS)), PERSISTENT)
    assert step(done) == "Inspecting"
    assert actions(done) == []


def test_a_member_on_a_dead_node_can_be_named_while_fencing_waits_for_it() -> None:
    journal = lost_journal(step="Fencing", candidates=(B, C))
    stuck = pod(B, journal, terminating=True, started=True)
    seen = stopped(journal, pods={B: stuck}, absent=frozenset({A, C}))

    assert step(decide(seen, PERSISTENT)) == "Fencing"
    assert step(decide(replace(seen, order=Order("t-1", frozenset({B}))), PERSISTENT)) == "Inspecting"


def test_every_log_is_read_before_one_is_chosen() -> None:
    journal = lost_journal(step="Inspecting")

    begun = decide(stopped(journal), PERSISTENT)
    made = of(begun, CreateHelper)
    assert {(one.start.member, one.task) for one in made} == {(name, Task.INSPECT) for name in MEMBERS}

    some = stopped(journal, helpers=inspected({A: (2, 9), B: (2, 8)}))
    waiting = decide(some, PERSISTENT)
    assert step(waiting) == "Inspecting"
    assert [one.start.member for one in of(waiting, CreateHelper)] == [C]
    assert of(waiting, DeletePod) == []


def test_the_survivor_is_the_last_by_term_and_then_by_index() -> None:
    journal = lost_journal(step="Inspecting")
    helpers = inspected({A: (2, 900), B: (3, 7), C: (3, 9)})

    decision = decide(stopped(journal, helpers=helpers), PERSISTENT)

    recovery = decision.status.journal.recovery
    assert recovery is not None
    assert (recovery.step, recovery.survivor) == ("Forcing", C)
    assert recovery.quarantined == tuple(sorted((A, B)))
    assert of(decision, CreateHelper, DeletePod, DeleteVolume) == []


@pytest.mark.parametrize(
    "said",
    [words(C, 9, 9, tail="damaged"), words(C, 9, 9, cluster="bad"), words(A, 9, 9), "there is no log"],
    ids=["damaged", "another cluster", "another member", "no log"],
)
def test_a_log_that_is_not_sound_is_not_chosen(said: str) -> None:
    journal = lost_journal(step="Inspecting")
    helpers = inspected({A: (2, 5), B: (2, 4)})
    helpers[Task.INSPECT.pod(C)] = helper(C, Task.INSPECT, said=said)
    chosen = decide(stopped(journal, helpers=helpers), PERSISTENT).status.journal.recovery
    assert chosen is not None
    assert chosen.survivor == A

    alone = lost_journal(step="Inspecting", candidates=(C,))
    none = decide(stopped(alone, helpers={Task.INSPECT.pod(C): helpers[Task.INSPECT.pod(C)]}), PERSISTENT)
    assert step(none) == "Inspecting"
    assert condition(none, "Stalled") == ("True", "RecoveryImpossible")


def test_a_reader_that_ended_without_words_is_made_anew_after_a_while() -> None:
    journal = lost_journal(step="Inspecting", candidates=(C,))
    evicted = helper(C, Task.INSPECT, phase="Failed")
    seen = stopped(journal, helpers={evicted.pod.name: evicted})
    assert [one.name for one in of(decide(seen, PERSISTENT), DeletePod)] == [evicted.pod.name]

    later = stopped(journal, waits={Task.INSPECT.pod(C): 3.0})
    assert of(decide(later, PERSISTENT), CreateHelper) == []


def test_forcing_sets_the_other_claims_aside_and_runs_alone_on_the_volume() -> None:
    journal = lost_journal(step="Forcing", survivor=C, quarantined=(A, B))

    readers = inspected({A: (2, 5), C: (2, 9)})
    first = decide(stopped(journal, helpers=readers, absent_helpers=HELPERS - readers.keys()), PERSISTENT)
    assert {one.name for one in of(first, DeletePod)} == readers.keys()
    assert {one.name for one in of(first, Quarantine)} == {A, B}
    assert of(first, CreateHelper) == []
    reads_over = decide(stopped(journal), PERSISTENT)
    assert {one.name for one in of(reads_over, Quarantine)} == {A, B}
    assert of(reads_over, CreateHelper) == [], "a claim is not set aside yet"

    aside = {name: volume(name, journal, quarantined=name != C) for name in MEMBERS}
    # A volume may be in use by one Pod only, so those that read it go first.
    still_read = stopped(journal, volumes=aside, helpers=readers, absent_helpers=HELPERS - readers.keys())
    assert of(decide(still_read, PERSISTENT), CreateHelper) == []

    second = decide(stopped(journal, volumes=aside), PERSISTENT)
    (made,) = of(second, CreateHelper)
    assert (made.start.member, made.task) == (C, Task.FORCE)
    assert made.start.annotations[INITIAL_STATE] == "existing"


def alone(**changes: Any) -> dict[str, Helper]:
    """The one-shot Pod of C, which serves alone unless the changes say otherwise."""
    said: Answer = answer(C, **{"leader": C, **changes})
    member = ListedMember(IDENTITY.member_ids[C], C, "http://c:2380")
    made = helper(C, Task.FORCE, phase="Running", answer=said, members=(member,))
    return {made.pod.name: made}


def forcing(helpers: dict[str, Helper]) -> Plan:
    journal = lost_journal(step="Forcing", survivor=C, quarantined=(A, B))
    aside = {name: volume(name, journal, quarantined=name != C) for name in MEMBERS}
    return decide(stopped(journal, volumes=aside, helpers=helpers), PERSISTENT)


def test_it_is_stopped_when_it_serves_alone_and_not_before() -> None:
    assert step(forcing(alone())) == "Stopping"
    assert step(forcing(alone(cluster_id=5))) == "Forcing"
    assert step(forcing(alone(leader=""))) == "Forcing"
    (name, one) = next(iter(alone().items()))
    two = (*(one.members or ()), ListedMember(IDENTITY.member_ids[A], A, "http://a:2380"))
    assert step(forcing({name: replace(one, members=two)})) == "Forcing"


def test_the_member_starts_without_the_flag_once_the_other_pod_is_proved_gone() -> None:
    journal = lost_journal(step="Stopping", survivor=C, quarantined=(A, B))
    force = Task.FORCE.pod(C)

    running = stopped(journal, helpers=alone(), absent_helpers=HELPERS - {force})
    stop = decide(running, PERSISTENT)
    assert [one.name for one in of(stop, DeletePod)] == [force]
    assert step(stop) == "Stopping"
    assert step(decide(stopped(journal, absent_helpers=HELPERS - {force}), PERSISTENT)) == "Stopping"

    gone = decide(stopped(journal), PERSISTENT)
    assert step(gone) == "Restarting"
    latch = gone.status.journal.latch
    assert latch is not None
    assert latch.roster == (C,)
    assert set(latch.members) == {C}

    restart = decide(stopped(gone.status.journal), PERSISTENT)
    (made,) = of(restart, CreatePod)
    assert made.member == C
    assert of(restart, CreateHelper) == []


def restarted(revision: int) -> Observed:
    journal = lost_journal(step="Restarting", survivor=C, quarantined=(A, B))
    assert journal.latch is not None
    only = {"roster": (C,), "members": {C: journal.latch.members[C]}, "revision": 100}
    journal = journal.model_copy(update={"latch": journal.latch.model_copy(update=only)})
    seen = stopped(journal, pods={C: pod(C, journal)}, absent=frozenset())
    return replace(
        seen,
        answers={C: answer(C, leader=C, revision=revision)},
        members=(ListedMember(IDENTITY.member_ids[C], C, "http://c:2380"),),
    )


@pytest.mark.parametrize(("revision", "events"), [(100, []), (90, ["DataLost"])])
def test_the_member_is_verified_and_lost_writes_are_told(revision: int, events: list[str]) -> None:
    decision = decide(restarted(revision), PERSISTENT)

    assert step(decision) == "Growing"
    latch = decision.status.journal.latch
    assert latch is not None
    assert latch.revision == revision
    assert [event.reason for event in decision.events if event.reason == "DataLost"] == events
    assert decision.status.journal.incident == Incident(token="", number=1)


def test_claims_set_aside_stay_until_the_cluster_is_complete() -> None:
    seen = restarted(100)
    journal = decide(seen, PERSISTENT).status.journal
    growing = replace(seen, status=seen.status.model_copy(update={"journal": journal}))
    decision = decide(growing, PERSISTENT)
    assert of(decision, DeleteVolume) == []
    assert step(decision) == "Growing"

    one = PERSISTENT.model_copy(update={"size": 1})
    complete = decide(growing, one)
    assert {action.name for action in of(complete, DeleteVolume)} == {A, B}
    assert step(complete) == "Growing"
    released = decide(replace(growing, volumes={C: growing.volumes[C]}), one)
    assert step(released) == "Done"
    assert condition(released, "Recovering") == ("False", "Recovered")


@pytest.mark.parametrize("task", list(Task))
def test_a_late_pod_of_a_recovery_is_deleted_whatever_is_going_on(task: Task) -> None:
    """Its creation was on its way when the operator that sent it lost its Lease."""
    late = helper(C, task, phase="Pending")
    healthy = look(latched(persistent=True), pods=MEMBERS, volumes=MEMBERS, answering=MEMBERS)

    decision = decide(replace(healthy, helpers={late.pod.name: late}), PERSISTENT)

    assert [one.name for one in of(decision, DeletePod)] == [late.pod.name]
