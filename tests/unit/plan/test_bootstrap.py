"""Founding a cluster, step by step."""

from dataclasses import replace

import pytest

from app.api.status import Journal
from app.plan.actions import Annotate, CreatePod, CreateVolume, EnsureService, RemoveMember
from app.plan.observed import ListedMember
from app.plan.starting import INITIAL_CLUSTER, INITIAL_STATE
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
    C,
    actions,
    answer,
    condition,
    decide,
    latched,
    look,
    pod,
)


def test_the_record_comes_before_any_object() -> None:
    decision = decide(look(Journal(), services=frozenset()))

    assert decision.groups == ()
    record = decision.status.journal.bootstrap
    assert record is not None
    assert record.members == MEMBERS
    assert record.cluster_id == f"{IDENTITY.cluster_id:x}"
    assert decision.status.phase == "Creating"
    assert condition(decision, "Available") == ("False", "Bootstrapping")
    assert [event.reason for event in decision.events] == ["Bootstrapping"]


def test_names_do_not_depend_on_when_the_record_is_made() -> None:
    once, again = decide(look(Journal())), decide(look(Journal()))

    assert once.status.journal == again.status.journal


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("conflicts", "NameConflict"),
        ("fading", "PredecessorTerminating"),
        ("existing_data", "ExistingDataFound"),
    ],
)
def test_nothing_is_founded_beside_what_is_not_ours(field: str, reason: str) -> None:
    decision = decide(look(Journal(), **{field: ("Service/c",)}))

    assert decision.status.journal.bootstrap is None
    assert actions(decision) == []
    assert condition(decision, "Available") == ("False", reason)
    assert "Service/c" in next(one.message for one in decision.status.conditions if one.type == "Available")


def test_a_paused_new_cluster_is_not_founded() -> None:
    decision = decide(look(Journal()), EPHEMERAL.model_copy(update={"paused": True}))

    assert decision.status.journal.bootstrap is None
    assert decision.status.control_paused
    assert condition(decision, "Available") == ("False", "Paused")


def test_all_members_are_created_at_once_claims_first() -> None:
    decision = decide(look(FOUNDED, services=frozenset()), PERSISTENT)

    first, second = decision.groups
    assert first == (EnsureService("c", client=False), *(CreateVolume(name) for name in MEMBERS))
    assert [action.member for action in second if isinstance(action, CreatePod)] == list(MEMBERS)
    for action in second:
        assert isinstance(action, CreatePod)
        assert action.annotations[INITIAL_STATE] == "new"
        assert all(name in action.annotations[INITIAL_CLUSTER] for name in MEMBERS)


def test_only_what_is_missing_is_created() -> None:
    decision = decide(look(FOUNDED, pods=[A, C]))

    assert [action.member for action in actions(decision)] == [B]


def test_one_member_that_serves_is_no_quorum() -> None:
    decision = decide(look(FOUNDED, pods=MEMBERS, answering=[A]))

    assert decision.status.journal.latch is None
    assert actions(decision) == []


def test_the_latch_falls_with_a_quorum_and_clients_come_after_the_flip() -> None:
    seen = look(FOUNDED, pods=MEMBERS, answering=[A, B], services=frozenset({"c"}), gauges_due=False)
    decision = decide(seen)

    latch = decision.status.journal.latch
    assert latch is not None
    assert (latch.revision, latch.raft_index, latch.raft_term) == (5, 20, 2)
    assert set(latch.members) == {A, B}
    flips, clients = decision.groups
    assert {action.name for action in flips if isinstance(action, Annotate)} == {A, B}
    for action in flips:
        assert isinstance(action, Annotate)
        assert action.annotations[INITIAL_STATE] == "existing"
        assert f"{action.name}=" not in action.annotations[INITIAL_CLUSTER]
    assert clients == (EnsureService("c-client", client=True),)


def test_a_member_of_another_cluster_does_not_count() -> None:
    stranger = answer(B, cluster_id=1)

    decision = decide(look(FOUNDED, pods=MEMBERS, answers={A: answer(A), B: stranger}))

    assert decision.status.journal.latch is None


def test_a_member_without_a_leader_does_not_count() -> None:
    decision = decide(look(FOUNDED, pods=MEMBERS, answers={A: answer(A), B: answer(B, leader="")}))

    assert decision.status.journal.latch is None


def test_a_claim_that_is_not_seen_yet_delays_the_latch() -> None:
    """Noted without its claim's uid, a member would later be taken for one that lost its data."""
    decision = decide(look(FOUNDED, pods=MEMBERS, answering=MEMBERS, volumes=[A]), PERSISTENT)

    assert decision.status.journal.latch is None


def test_a_late_member_still_founds_and_is_noted_when_it_serves() -> None:
    journal = latched(A, B)

    seen = look(journal, pods=MEMBERS, answering=[A, B])
    late = pod(C, FOUNDED, running=False, ready=False)
    assert actions(decide(replace(seen, pods={**seen.pods, C: late}))) == []
    assert late.annotations[INITIAL_STATE] == "new"

    served = look(journal, pods=MEMBERS, answering=MEMBERS)
    there = decide(replace(served, pods={**served.pods, C: pod(C, FOUNDED)}))
    assert there.status.journal.latch is not None
    assert set(there.status.journal.latch.members) == set(MEMBERS)
    assert [action.name for action in actions(there)] == [C]


def test_a_founder_that_is_gone_before_it_was_seen_serving_is_not_founded_anew() -> None:
    """It may have taken part in commits; on nothing it would vote as if it had not."""
    journal = latched(A, B)
    seen = look(journal, pods=[A, B], answering=[A, B])

    assert actions(decide(seen)) == []
    assert actions(decide(replace(seen, absent=frozenset({C})))) == []

    listed = tuple(ListedMember(IDENTITY.member_ids[name], name, URLS[name]) for name in MEMBERS)
    (removed,) = actions(decide(replace(seen, absent=frozenset({C}), members=listed)))
    assert isinstance(removed, RemoveMember)
    assert removed.member == C


def test_a_single_member_is_told_that_it_is_not_in_the_list() -> None:
    """An empty list would make etcd put itself in."""
    one = EPHEMERAL.model_copy(update={"size": 1})
    recorded = decide(look(Journal()), one).status.journal

    decision = decide(look(recorded, pods=[A], answers={A: answer(A)}), one)

    assert recorded.bootstrap is not None
    assert recorded.bootstrap.members == (A,)
    assert decision.status.journal.latch is None  # that answer is of the cluster of three
    assert CLUSTER.name == "c"


def test_nothing_is_created_in_a_namespace_that_ends() -> None:
    assert actions(decide(look(FOUNDED, namespace_ending=True))) == []


def test_a_pod_that_waits_for_a_claim_that_is_gone_gets_one() -> None:
    """The claim was deleted before its Pod came: without another the founding would never end."""
    seen = look(FOUNDED, pods=MEMBERS, volumes=[A, B])
    waiting = pod(C, FOUNDED, running=False, ready=False, phase="Pending")

    assert actions(decide(replace(seen, pods={**seen.pods, C: waiting}), PERSISTENT)) == [CreateVolume(C)]


def test_a_claim_with_data_that_is_gone_is_not_made_anew() -> None:
    seen = look(latched(persistent=True), pods=MEMBERS, volumes=[A, B], answering=[A, B])
    waiting = pod(C, FOUNDED, running=False, ready=False, phase="Pending")

    decision = decide(replace(seen, pods={**seen.pods, C: waiting}), PERSISTENT)

    assert CreateVolume(C) not in actions(decision)


def test_available_says_what_keeps_a_founder_from_starting() -> None:
    """Whoever waits for the condition Available reads that one first."""
    stuck = pod(A, FOUNDED, running=False, ready=False, trouble=("ImagePullFailed", "no such image"))
    seen = replace(look(FOUNDED, pods=MEMBERS), pods={A: stuck})

    decision = decide(seen)

    assert condition(decision, "Available") == ("False", "ImagePullFailed")
    (message,) = [one.message for one in decision.status.conditions if one.type == "Available"]
    assert f"{A}: no such image" in message
