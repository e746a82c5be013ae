"""Replacing members: who is, who is not, and what becomes of what they leave."""

from dataclasses import replace
from typing import Any

import pytest

from app.api.cluster import REPLACE_AFTER_SECONDS
from app.api.status import Journal
from app.etcd import identity
from app.plan.actions import (
    CreatePod,
    DeletePod,
    DeleteVolume,
    RemoveMember,
)
from app.plan.observed import Observed
from app.plan.progress import STUCK_SECONDS, overtaken
from app.plan.symptoms import NO_QUORUM, joining, running_on, symptoms, unhealthy
from tests.unit.plan.looks import (
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
    pod,
    volume,
)
from tests.unit.plan.seats import NEW, NEW_ID, changes_of, seat, seated, sized, with_learner


def test_B3_X1_a_member_that_lost_its_empty_dir_is_removed_and_its_pod_is_not_started_again() -> None:
    seen = seated(latched(), absent=frozenset({C}))
    seen = replace(seen, pods={A: seen.pods[A], B: seen.pods[B]}, answers={A: answer(A), B: answer(B)})

    decision = decide(seen)

    (remove,) = changes_of(decision)
    assert remove == RemoveMember(C, IDENTITY.member_ids[C], remove.via)
    assert not [action for action in actions(decision) if isinstance(action, CreatePod)]
    assert [event.reason for event in decision.events] == ["ReplacingDeadMember"]


@pytest.mark.parametrize(("age", "removed"), [(REPLACE_AFTER_SECONDS - 1, []), (REPLACE_AFTER_SECONDS, [C])])
def test_a_member_that_is_unhealthy_for_long_is_replaced(age: float, removed: list[str]) -> None:
    seen = seated(latched(persistent=True), ages={unhealthy(C): age})
    seen = replace(
        seen,
        volumes={name: volume(name, seen.status.journal) for name in MEMBERS},
        answers={A: answer(A), B: answer(B)},
    )

    assert [action.member for action in changes_of(decide(seen, PERSISTENT))] == removed


@pytest.mark.parametrize(
    ("words", "restarts", "removed"),
    [
        ('"error":"couldn\'t find local name \\"c\\" in the initial cluster configuration"', 2, [C]),
        ('panic: failed to open database "error":"invalid database"', 3, [C]),
        ("invalid database", 1, []),
        ("unknown flag: --nonsense", 9, []),
        ("", 9, []),
    ],
)
def test_A10_X30_a_member_whose_data_is_unreadable_is_replaced_at_once(
    words: str, restarts: int, removed: list[str]
) -> None:
    seen = seated(latched(persistent=True))
    journal = seen.status.journal
    sick = pod(C, journal, ready=False, running=False, restarts=restarts, last_words=words)
    seen = replace(
        seen,
        volumes={name: volume(name, journal) for name in MEMBERS},
        pods={**seen.pods, C: sick},
        answers={A: answer(A), B: answer(B)},
    )

    assert [action.member for action in changes_of(decide(seen, PERSISTENT))] == removed


def test_a_member_whose_pod_waits_for_a_claim_that_is_gone_is_replaced() -> None:
    """Somebody deleted both, and the Pod was made anew before the claim was gone."""
    seen = seated(latched(persistent=True), absent_volumes=frozenset({C}))
    journal = seen.status.journal
    words = ("MemberUnschedulable", "persistentvolumeclaim not found")
    seen = replace(
        seen,
        volumes={name: volume(name, journal) for name in (A, B)},
        pods={**seen.pods, C: pod(C, journal, running=False, ready=False, phase="Pending", trouble=words)},
        answers={A: answer(A), B: answer(B)},
    )

    assert [action.member for action in changes_of(decide(seen, PERSISTENT))] == [C]


@pytest.mark.parametrize(
    ("changes", "ran_on", "removed"),
    [
        ({}, 0.0, [C]),
        ({"out_of_memory": True}, 0.0, []),
        ({"out_of_memory": True, "running": True}, 299.0, []),
        ({"out_of_memory": True, "running": True}, 300.0, [C]),
        ({"last_words": '"msg":"failed to verify flags"'}, 0.0, []),
        ({"last_words": "x509: certificate has expired"}, 0.0, []),
    ],
)
def test_A8_a_member_that_ends_for_want_of_memory_or_by_its_settings_is_not_replaced(
    changes: dict[str, Any], ran_on: float, removed: list[str]
) -> None:
    """Its successor would end as well. One that has run on since without serving is another matter."""
    journal = latched(persistent=True)
    sick = pod(C, journal, **{"ready": False, "running": False, "restarts": 3, **changes})
    seen = seated(journal, ages={unhealthy(C): 9999.0, running_on(sick): ran_on})
    seen = replace(
        seen,
        volumes={name: volume(name, journal) for name in MEMBERS},
        pods={**seen.pods, C: sick},
        answers={A: answer(A), B: answer(B)},
    )

    assert [action.member for action in changes_of(decide(seen, PERSISTENT))] == removed


@pytest.mark.parametrize("reason", ["MemberUnschedulable", "ImagePullFailed"])
def test_a_member_whose_successor_would_fare_no_better_is_not_replaced(reason: str) -> None:
    seen = seated(latched(), ages={unhealthy(C): 9999.0})
    sick = pod(C, seen.status.journal, ready=False, trouble=(reason, "words"))
    seen = replace(seen, pods={**seen.pods, C: sick}, answers={A: answer(A), B: answer(B)})

    assert changes_of(decide(seen)) == []


def test_a_member_on_settings_that_nobody_healthy_runs_is_not_replaced() -> None:
    seen = seated(latched(), ages={unhealthy(C): 9999.0})
    other = {**seen.pods[C].annotations, "etcd.database.coreos.com/revision": "other"}
    seen = replace(
        seen,
        pods={**seen.pods, C: replace(seen.pods[C], annotations=other)},
        answers={A: answer(A), B: answer(B)},
    )

    assert changes_of(decide(seen)) == []


def test_X22_nothing_is_removed_without_a_healthy_quorum_of_the_rest() -> None:
    """Two of three are gone with their data: the third can't commit anything, and nothing is destroyed."""
    seen = seated(latched(), absent=frozenset({B, C}))
    seen = replace(seen, members=None, pods={A: seen.pods[A]}, answers={A: answer(A, leader="")})

    decision = decide(seen)

    assert actions(decision) == []
    assert condition(decision, "Available") == ("False", "QuorumLost")
    assert condition(decision, "Degraded") == ("True", "MemberDataLost")


def test_B10_a_member_that_is_not_listed_any_more_leaves_its_pod_and_at_the_end_its_claim() -> None:
    journal = latched(persistent=True)
    seen = seated(journal, [seat(A), seat(B)])
    volumes = {name: volume(name, journal) for name in MEMBERS}
    seen = replace(seen, volumes=volumes, answers={A: answer(A), B: answer(B)})

    shrunk = decide(seen, sized(2, PERSISTENT))
    assert [action.name for action in actions(shrunk) if isinstance(action, DeletePod)] == [C]
    assert not [action for action in actions(shrunk) if isinstance(action, DeleteVolume)]

    gone = decide(replace(seen, pods={A: seen.pods[A], B: seen.pods[B]}), sized(2, PERSISTENT))
    (delete,) = [action for action in actions(gone) if isinstance(action, DeleteVolume)]
    assert (delete.name, delete.uid) == (C, volumes[C].uid)


def test_the_data_of_a_replaced_member_stays_until_its_successor_is_a_voter() -> None:
    journal = latched(persistent=True)
    seen = seated(journal, [seat(A), seat(B), seat(NEW, learner=True)])
    volumes = {name: volume(name, journal) for name in MEMBERS}
    seen = replace(
        seen,
        volumes=volumes,
        pods={A: seen.pods[A], B: seen.pods[B]},
        answers={A: answer(A), B: answer(B)},
    )

    decision = decide(seen, PERSISTENT)

    assert not [action for action in actions(decision) if isinstance(action, DeleteVolume)]


def test_the_data_of_a_replaced_member_stays_until_its_successor_is_ready() -> None:
    """A voter that answers and receives nothing is not in sync; its kubelet says so."""
    journal = latched(persistent=True)
    seen = seated(journal)
    volumes = {**{name: volume(name, journal) for name in MEMBERS}, "c-old": volume("c-old", journal)}
    seen = replace(seen, volumes=volumes)

    (gone,) = [action for action in actions(decide(seen, PERSISTENT)) if isinstance(action, DeleteVolume)]
    assert gone.name == "c-old"
    behind = replace(seen, pods={**seen.pods, C: pod(C, journal, ready=False)})
    assert not [action for action in actions(decide(behind, PERSISTENT)) if isinstance(action, DeleteVolume)]


def test_symptoms_are_those_of_voters_that_do_not_serve_and_of_learners() -> None:
    seen = with_learner(latched(), serving=False)
    down = {name: replace(seen.pods[name], ready=False) for name in (B, C)}

    assert symptoms(replace(seen, answers={A: answer(A)}, pods={**seen.pods, **down})) == {
        unhealthy(B),
        unhealthy(C),
        unhealthy(NEW),
        joining(NEW),
        NO_QUORUM,
        *(running_on(seen.pods[name]) for name in (B, C, NEW)),
    }
    assert identity.text(NEW_ID) == "4d"


def test_a_member_that_its_kubelet_finds_ready_is_not_timed_for_its_silence() -> None:
    """The operator can't reach it, its peers can: replacing it would cost a healthy member."""
    seen = seated(latched())

    assert symptoms(replace(seen, answers={A: answer(A), B: answer(B)})) == set()
    assert symptoms(replace(seen, answers={**seen.answers, C: answer(C, leader="")})) == {
        unhealthy(C),
        running_on(seen.pods[C]),
    }


def test_A15_a_member_whose_pod_is_terminating_does_not_count_for_the_quorum_that_stays() -> None:
    """Its claim may be going as well: with the one that is down removed, one of two would be left."""
    journal = latched(persistent=True)
    seen = seated(journal, ages={unhealthy(C): REPLACE_AFTER_SECONDS})
    seen = replace(
        seen,
        pods={A: seen.pods[A], B: pod(B, journal, terminating=True), C: pod(C, journal, ready=False)},
        volumes={name: volume(name, journal) for name in MEMBERS},
        answers={A: answer(A), B: answer(B)},
    )

    assert changes_of(decide(seen, PERSISTENT)) == []


def halted(journal: Journal, seconds: float) -> Observed:
    """C answers, and has applied 9 entries of 20 for so long."""
    seen = seated(journal)
    answers = {**seen.answers, C: answer(C, raft_applied_index=9)}
    symptom = next(iter(overtaken(replace(seen, answers=answers), journal)))
    return replace(seen, answers=answers, ages={symptom: seconds})


def test_a_member_that_answers_and_applies_nothing_is_not_well_and_is_replaced_in_the_end() -> None:
    """Its port answers, so nobody is refused; its log has come to a halt."""
    journal = latched()
    slow, stuck, late = (halted(journal, seconds) for seconds in (STUCK_SECONDS - 1, STUCK_SECONDS, 300.0))

    assert decide(slow).status.ready_members == 3
    decision = decide(stuck)
    assert decision.status.members.unready == (C,)
    assert next(one.reason for one in decision.status.member_status if one.name == C) == "NotProgressing"
    assert condition(decision, "Available") == ("True", "QuorumServes")
    assert changes_of(decision) == []
    assert changes_of(decide(stuck, sized(5))) == []
    assert [action.member for action in changes_of(decide(stuck, sized(2)))] == [C]
    assert [action.member for action in changes_of(decide(late))] == [C]


def test_X32_a_member_that_is_slow_and_moves_is_left_alone() -> None:
    """Each entry that it applies makes the symptom another; silence is none while the kubelet is content."""
    journal = latched()
    behind = halted(journal, 0.0)
    moved = replace(behind, answers={**behind.answers, C: answer(C, raft_applied_index=10)})

    assert symptoms(behind) != symptoms(moved)
    assert changes_of(decide(replace(moved, ages=dict.fromkeys(symptoms(behind), 9999.0)))) == []
    silent = replace(behind, answers={A: answer(A), B: answer(B)})
    assert symptoms(silent) == set()
