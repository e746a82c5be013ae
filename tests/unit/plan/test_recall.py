"""A status that was lost."""

from dataclasses import replace

from app.api.status import Journal
from app.plan.actions import CreatePod
from app.plan.starting import CLUSTER_ID, TOKEN
from tests.unit.plan.looks import (
    EPHEMERAL,
    FOUNDED,
    IDENTITY,
    MEMBERS,
    PERSISTENT,
    A,
    B,
    actions,
    condition,
    decide,
    latched,
    look,
    pod,
    volume,
)

SERVED = latched(persistent=True)


def test_a_lost_status_is_read_off_the_pods_and_claims() -> None:
    seen = look(Journal(), services=frozenset())
    seen = replace(
        seen,
        pods={name: pod(name, SERVED) for name in MEMBERS},
        volumes={name: volume(name, SERVED) for name in MEMBERS},
    )

    decision = decide(seen, PERSISTENT)

    journal = decision.status.journal
    assert actions(decision) == []
    assert journal.bootstrap is not None
    assert journal.latch is not None
    assert journal.bootstrap.cluster_id == journal.latch.cluster_id == f"{IDENTITY.cluster_id:x}"
    assert SERVED.latch is not None
    assert journal.latch.members == SERVED.latch.members
    assert journal.latch.members[A].pvc_uid == f"pvc-{A}"


def test_claims_alone_are_enough() -> None:
    """All Pods are gone too: the cluster is brought back on its data and not founded anew."""
    seen = look(Journal())
    seen = replace(seen, volumes={name: volume(name, SERVED) for name in MEMBERS})
    remembered = decide(seen, PERSISTENT).status.journal

    decision = decide(replace(look(remembered, absent=frozenset(MEMBERS)), volumes=seen.volumes), PERSISTENT)

    created = [action for action in actions(decision) if isinstance(action, CreatePod)]
    assert {action.member for action in created} == set(MEMBERS)
    assert {action.annotations["etcd.database.coreos.com/initial-cluster-state"] for action in created} == {
        "existing"
    }


def test_a_cluster_that_was_about_to_be_founded_goes_on() -> None:
    seen = look(Journal())
    marks = {**pod(A, FOUNDED).annotations, TOKEN: "uid-1"}
    seen = replace(seen, pods={A: pod(A, FOUNDED, annotations=marks)})

    journal = decide(seen, EPHEMERAL).status.journal

    assert journal.bootstrap == FOUNDED.bootstrap
    assert journal.latch is None


def test_members_of_several_clusters_are_left_alone() -> None:
    seen = look(Journal())
    other = {**pod(B, SERVED).annotations, CLUSTER_ID: "1234"}
    seen = replace(seen, pods={A: pod(A, SERVED), B: pod(B, SERVED, annotations=other)})

    decision = decide(seen)

    assert actions(decision) == []
    assert decision.status.journal.bootstrap is None
    assert condition(decision, "Stalled") == ("True", "ClusterIDMismatch")


def test_nothing_is_founded_beside_members_of_another_operator() -> None:
    """The old operator's Pods have this resource as their controller, and none of our annotations."""
    seen = replace(look(Journal()), pods={A: pod(A, FOUNDED, annotations={"etcd.version": "3.2.13"})})

    decision = decide(seen)

    assert actions(decision) == []
    assert decision.status.journal.bootstrap is None
    assert condition(decision, "Stalled") == ("True", "ExistingDataFound")
