"""A status that was lost."""

from dataclasses import replace

import pytest

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.actions import Annotate, CreatePod
from app.plan.observed import ListedMember
from app.plan.starting import CLUSTER_ID, HIGHEST, INITIAL_STATE, TOKEN, annotations
from tests.unit.plan.looks import (
    CLUSTER,
    EPHEMERAL,
    FOUNDED,
    IDENTITY,
    MEMBERS,
    PERSISTENT,
    URLS,
    A,
    B,
    actions,
    answer,
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


def test_a_joiner_helps_to_found_nothing_when_the_status_was_lost() -> None:
    """It carries no mark of having served; taken for a founder it would found another cluster."""
    seen = look(Journal())
    joiner = pod("c-joiner0000", SERVED)
    seen = replace(
        seen,
        pods={**{name: pod(name, SERVED) for name in MEMBERS}, "c-joiner0000": joiner},
        volumes={name: volume(name, SERVED) for name in MEMBERS},
    )

    journal = decide(seen, PERSISTENT).status.journal

    assert journal.bootstrap is not None
    assert set(journal.bootstrap.members) == set(MEMBERS)
    assert journal.next_index == 4
    assert annotations("c-joiner0000", CLUSTER, PERSISTENT, journal)[INITIAL_STATE] == "existing"


def test_members_that_left_no_trace_are_taken_from_the_list_when_the_status_was_lost() -> None:
    """Two of three are found and two are wanted: the cluster is not Ready while etcd lists three."""
    seen = look(Journal(), answering=(A, B))
    listed = tuple(ListedMember(IDENTITY.member_ids[name], name, URLS[name]) for name in MEMBERS)
    seen = replace(seen, pods={name: pod(name, latched()) for name in (A, B)}, members=listed)

    decision = decide(seen, EPHEMERAL.model_copy(update={"size": 2}))

    assert decision.status.journal.latch is not None
    assert set(decision.status.journal.latch.roster) == set(MEMBERS)
    assert condition(decision, "Ready")[0] == "False"


def test_the_highest_revision_outlives_the_status() -> None:
    """Without it a cluster that serves less than it did would be Available after the status was lost."""
    volumes = {name: volume(name, SERVED) for name in MEMBERS}
    volumes[B] = volume(B, SERVED, annotations={**volumes[B].annotations, HIGHEST: "100"})
    seen = replace(look(Journal()), pods={name: pod(name, SERVED) for name in MEMBERS}, volumes=volumes)
    recalled = decide(seen, PERSISTENT).status.journal
    assert recalled.latch is not None
    assert recalled.latch.revision == 100

    after = replace(look(recalled, answering=MEMBERS), pods=seen.pods, volumes=volumes)

    assert condition(decide(after, PERSISTENT), "Available") == ("False", "DataLost")


@pytest.mark.parametrize("spec", [PERSISTENT, EPHEMERAL], ids=["claims", "Pods"])
def test_the_highest_revision_is_written_where_the_data_is(spec: ClusterSpec) -> None:
    persistent = spec is PERSISTENT
    journal = latched(persistent=persistent, revision=70)
    seen = look(journal, pods=MEMBERS, volumes=MEMBERS if persistent else (), answering=MEMBERS)
    older = latched(persistent=persistent, revision=60)
    seen = replace(
        seen,
        answers={name: answer(name, revision=70) for name in MEMBERS},
        pods={name: pod(name, older) for name in seen.pods},
        volumes={name: volume(name, older) for name in seen.volumes},
    )

    marks = [action for action in actions(decide(seen, spec)) if isinstance(action, Annotate)]

    assert {one.kind for one in marks} == {"PersistentVolumeClaim" if persistent else "Pod"}
    assert {one.annotations[HIGHEST] for one in marks} == {"70"}


def test_a_latch_without_a_revision_learns_it_at_the_first_look() -> None:
    """Not a minute later, with the other gauges: until then any regression would go unnoticed."""
    seen = look(latched(revision=0), pods=MEMBERS, gauges_due=False)
    seen = replace(seen, answers={name: answer(name, revision=40) for name in MEMBERS})

    latch = decide(seen).status.journal.latch

    assert latch is not None
    assert latch.revision == 40
