"""`spec.recovery`: what the operator does about a lost quorum without a person, and what it never does."""

from dataclasses import replace

import pytest

from app.api.cluster import ClusterSpec, RecoveryPolicy
from app.api.status import Incident, Journal
from app.plan.actions import DeletePod, DeleteVolume, Quarantine
from app.plan.observed import Observed, Order
from app.plan.symptoms import NO_QUORUM, symptoms
from tests.unit.plan.looks import (
    EPHEMERAL,
    MEMBERS,
    PERSISTENT,
    A,
    B,
    C,
    answer,
    condition,
    decide,
    latched,
    pod,
    volume,
)
from tests.unit.plan.outages import lost_journal, message, of, outage, step

ALONE = PERSISTENT.model_copy(update={"recovery": RecoveryPolicy(quorum_loss="ForceNewCluster")})


def lasting(journal: Journal, seconds: float, *, order: Order = Order()) -> Observed:  # noqa: B008 - frozen
    return outage(journal, order=order, ages={NO_QUORUM: seconds})


def test_it_begins_by_itself_at_the_deadline_and_not_before() -> None:
    early = decide(lasting(lost_journal(), 299.0), ALONE)
    assert step(early) == ""
    assert of(early, DeletePod, DeleteVolume, Quarantine) == []
    assert "300 s" in message(early, "Available")

    due = decide(lasting(lost_journal(), 300.0), ALONE)
    assert step(due) == "Fencing"
    assert due.status.journal.recovery is not None
    assert due.status.journal.recovery.consumed == ("t-1",)

    policy = RecoveryPolicy(quorum_loss="ForceNewCluster", member_replace_after_seconds=60)
    soon = PERSISTENT.model_copy(update={"recovery": policy})
    assert step(decide(lasting(lost_journal(), 60.0), soon)) == "Fencing"


@pytest.mark.parametrize("spec", [PERSISTENT, EPHEMERAL], ids=["Manual", "emptyDir"])
def test_X21_without_the_policy_it_is_told_and_nothing_is_done(spec: ClusterSpec) -> None:
    decision = decide(lasting(lost_journal(), 1e9), spec)

    assert step(decision) == ""
    assert condition(decision, "Available")[0] == "False"
    assert of(decision, DeletePod, DeleteVolume, Quarantine) == []


def transient(journal: Journal) -> Observed:
    """Two of three are down, and all claims are there."""
    seen = lasting(journal, 1e9)
    down = {name: pod(name, journal, running=False, ready=False, started=True) for name in (A, B)}
    return replace(
        seen,
        pods={**seen.pods, **down},
        volumes={name: volume(name, journal) for name in MEMBERS},
        absent=frozenset(),
        absent_volumes=frozenset(),
    )


def test_X22_an_outage_that_may_pass_is_waited_for_however_long_it_lasts() -> None:
    decision = decide(transient(lost_journal()), ALONE)

    assert step(decision) == ""
    assert of(decision, DeletePod, DeleteVolume, Quarantine) == []
    assert "force-new-cluster=t-1" in message(decision, "Available")


def test_X22_one_lost_claim_of_two_members_that_are_down_is_no_proof() -> None:
    seen = transient(lost_journal())
    one = replace(
        seen,
        volumes={name: seen.volumes[name] for name in (B, C)},
        absent_volumes=frozenset({A}),
    )

    assert step(decide(one, ALONE)) == ""


def test_a_claim_that_the_cache_lacks_is_no_proof() -> None:
    assert step(decide(replace(lasting(lost_journal(), 1e9), absent_volumes=frozenset()), ALONE)) == ""


def test_of_four_members_one_may_be_a_learner() -> None:
    """Two of three voters with data would be a quorum; nobody can tell whether the fourth had a vote."""
    journal = lost_journal()
    latch = journal.latch
    assert latch is not None
    four = journal.model_copy(
        update={
            "latch": latch.model_copy(
                update={
                    "roster": (*MEMBERS, "d"),
                    "members": {
                        **latch.members,
                        "d": latch.members[A].model_copy(update={"pvc_uid": "pvc-d"}),
                    },
                }
            )
        }
    )
    seen = replace(transient(four), absent_volumes=frozenset({A, "d"}), absent=frozenset({"d"}))
    seen = replace(seen, volumes={name: seen.volumes[name] for name in (B, C)})

    assert step(decide(seen, ALONE)) == ""


def test_a_member_that_may_run_elsewhere_is_named_and_waited_for() -> None:
    journal = lost_journal()
    five = (*MEMBERS, "d", "e")
    latch = journal.latch
    assert latch is not None
    members = {name: latch.members[A].model_copy(update={"pvc_uid": f"pvc-{name}"}) for name in five}
    journal = journal.model_copy(
        update={"latch": latch.model_copy(update={"roster": five, "members": members})}
    )
    seen = lasting(journal, 1e9)
    seen = replace(
        seen,
        pods={**seen.pods, B: pod(B, journal, running=False, ready=False)},
        volumes={name: volume(name, journal) for name in (B, C)},
        absent=frozenset({A, "d", "e"}),
        absent_volumes=frozenset({A, "d", "e"}),
    )

    told = decide(seen, ALONE)
    assert step(told) == ""
    assert B in message(told, "Available")
    assert "fenced-members" in message(told, "Available")

    assert step(decide(replace(seen, order=Order("", frozenset({B}))), ALONE)) == "Fencing"


def test_each_incident_is_recovered_from_once() -> None:
    done = lost_journal(step="Done", survivor=C)
    assert step(decide(lasting(done, 1e9), ALONE)) == "Done"

    second = done.model_copy(update={"incident": Incident(token="t-2", number=2)})
    again = decide(lasting(second, 300.0), ALONE).status.journal.recovery
    assert again is not None
    assert (again.step, again.consumed) == ("Fencing", ("t-1", "t-2"))


def test_the_annotation_of_an_outage_before_does_not_stand_in_its_way() -> None:
    assert step(decide(lasting(lost_journal("t-2"), 300.0, order=Order("t-1")), ALONE)) == "Fencing"


def test_a_paused_cluster_is_not_recovered() -> None:
    paused = ALONE.model_copy(update={"paused": True})
    assert step(decide(lasting(lost_journal(), 1e9), paused)) == ""


def test_a_quorum_that_nobody_can_see_is_not_timed() -> None:
    """The kubelets say that all are ready and none answers: it may be the operator that is cut off."""
    journal = latched(persistent=True)
    seen = replace(outage(journal), pods={name: pod(name, journal) for name in MEMBERS}, answers={})

    assert NO_QUORUM not in symptoms(seen)
    lost = replace(outage(journal), answers={C: answer(C, leader="")})
    assert NO_QUORUM in symptoms(lost)
