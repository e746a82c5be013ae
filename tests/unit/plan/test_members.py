"""Keeping the members of a cluster that has served."""

from dataclasses import replace

import pytest

from app.api.cluster import ServicePolicy
from app.plan.actions import (
    Annotate,
    CreatePod,
    DeletePod,
    DeleteService,
    EnsureService,
    Label,
    RemoveMember,
    SetRetention,
)
from app.plan.members import STRANGER_SECONDS
from app.plan.observed import ListedMember, ServiceFacts
from app.plan.starting import INITIAL_CLUSTER, INITIAL_STATE
from app.plan.symptoms import stranger
from tests.unit.plan.looks import (
    EPHEMERAL,
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
    volume,
)

SERVED = latched(persistent=True)
SHORT_LIVED = latched()


def test_D10_a_settled_cluster_causes_nothing() -> None:
    seen = look(SERVED, pods=MEMBERS, volumes=MEMBERS, answering=MEMBERS)
    first = decide(seen, PERSISTENT)

    again = decide(replace(seen, status=first.status), PERSISTENT)

    assert actions(again) == []
    assert again.events == ()
    assert again.status == first.status
    assert condition(again, "Ready") == ("True", "AsSpecified")
    assert condition(again, "Available") == ("True", "QuorumServes")


def test_A1_F1_pods_that_are_gone_come_back_on_their_claims_all_at_once() -> None:
    decision = decide(
        look(SERVED, pods=[A], volumes=MEMBERS, answers={A: answer(A, leader="")}, absent=frozenset({B, C})),
        PERSISTENT,
    )

    created = actions(decision)
    assert [action.member for action in created] == [B, C]
    for action in created:
        assert isinstance(action, CreatePod)
        assert action.annotations[INITIAL_STATE] == "existing"
        assert f"{action.member}=" not in action.annotations[INITIAL_CLUSTER]
    assert condition(decision, "Available") == ("False", "QuorumLost")
    assert condition(decision, "Degraded")[0] == "True"


def test_B2_the_size_does_not_drop_with_a_pod() -> None:
    decision = decide(
        look(SERVED, pods=[A, B], volumes=MEMBERS, answering=[A, B], absent=frozenset({C})), PERSISTENT
    )

    assert [action.member for action in actions(decision)] == [C]
    assert decision.status.ready_members == 2
    assert decision.status.members.unready == (C,)
    assert condition(decision, "Available") == ("True", "QuorumServes")


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_A3_a_pod_that_has_ended_makes_room_for_the_next(phase: str) -> None:
    ended = pod(B, SERVED, phase=phase, running=False, ready=False)
    seen = look(SERVED, pods=[A, C], volumes=MEMBERS, answering=[A, C])

    decision = decide(replace(seen, pods={**seen.pods, B: ended}), PERSISTENT)

    assert actions(decision) == [DeletePod(B, ended.uid, ended.resource_version)]


def test_A4_a_pod_that_keeps_ending_is_left_alone_for_a_while() -> None:
    ended = pod(B, SERVED, phase="Failed", running=False, ready=False)
    seen = look(SERVED, pods=[A, C], volumes=MEMBERS, answering=[A, C], waits={B: 4.0})

    decision = decide(replace(seen, pods={**seen.pods, B: ended}), PERSISTENT)

    assert actions(decision) == []
    assert decision.requeue_after <= 4.0
    assert condition(decision, "Degraded") == ("True", "MemberFailing")


def test_X39_a_pod_on_its_way_out_is_waited_for() -> None:
    going = pod(B, SERVED, terminating=True)
    seen = look(SERVED, pods=[A, C], volumes=MEMBERS, answering=MEMBERS)

    assert actions(decide(replace(seen, pods={**seen.pods, B: going}), PERSISTENT)) == []


def test_what_is_not_known_to_be_absent_is_not_taken_for_lost() -> None:
    """The claim is not in the cache, and no live read has said that it is gone."""
    decision = decide(look(SERVED, pods=[A, B], volumes=[A, B], answering=[A, B]), PERSISTENT)

    assert actions(decision) == []
    assert condition(decision, "Degraded") == ("True", "MemberUnknown")


def test_no_pod_is_made_on_a_claim_that_is_being_deleted() -> None:
    """It would never start, and stay in the way of the member that is to replace this one."""
    seen = look(SERVED, pods=[A, B], volumes=[A, B], answering=[A, B], absent=frozenset({C}))
    going = {**seen.volumes, C: volume(C, SERVED, terminating=True)}

    decision = decide(replace(seen, volumes=going), PERSISTENT)

    assert [action for action in actions(decision) if isinstance(action, CreatePod)] == []
    assert condition(decision, "Degraded") == ("True", "MemberUnknown")


@pytest.mark.parametrize("other", [None, "another-uid"])
def test_a_claim_that_is_gone_or_another_is_lost_data(other: str | None) -> None:
    volumes = {A: volume(A, SERVED), B: volume(B, SERVED)}
    if other:
        volumes[C] = volume(C, SERVED, uid=other)

    seen = replace(
        look(SERVED, pods=[A, B], answering=[A, B]),
        volumes=volumes,
        absent=frozenset({C}),
        absent_volumes=frozenset() if other else frozenset({C}),
    )
    decision = decide(seen, PERSISTENT)

    assert not [action for action in actions(decision) if isinstance(action, CreatePod)]
    assert condition(decision, "Degraded") == ("True", "MemberDataLost")
    assert condition(decision, "Available")[0] == "True"


def test_an_empty_dir_that_is_gone_is_not_started_on_nothing() -> None:
    decision = decide(look(SHORT_LIVED, pods=[A, B], answering=[A, B], absent=frozenset({C})), EPHEMERAL)

    assert actions(decision) == []
    assert condition(decision, "Degraded") == ("True", "MemberDataLost")


def test_a_pod_whose_annotations_still_say_new_is_flipped() -> None:
    seen = look(SHORT_LIVED, pods=MEMBERS, answering=MEMBERS)
    stale = replace(seen.pods[B], annotations={INITIAL_STATE: "new"})

    (action,) = actions(decide(replace(seen, pods={**seen.pods, B: stale})))

    assert isinstance(action, Annotate)
    assert (action.name, action.annotations[INITIAL_STATE]) == (B, "existing")


def test_labels_that_were_taken_off_are_put_back_and_nothing_is_replaced() -> None:
    seen = look(SHORT_LIVED, pods=MEMBERS, answering=MEMBERS, stray=frozenset({("Pod", B, f"pod-{B}")}))

    assert actions(decide(seen)) == [Label("Pod", B, f"pod-{B}")]


def test_a_service_that_was_edited_is_written_anew_and_clients_are_not_told_of_an_outage() -> None:
    seen = look(SHORT_LIVED, pods=MEMBERS, answering=MEMBERS, drifted=frozenset({"c-client"}))

    decision = decide(seen)

    assert actions(decision) == [EnsureService("c-client", client=True)]
    assert condition(decision, "Available")[0] == "True"


def test_I3_while_paused_nothing_is_done_and_the_status_is_true() -> None:
    paused = PERSISTENT.model_copy(update={"paused": True})
    seen = look(SERVED, pods=[A, B], volumes=MEMBERS, answering=[A, B], absent=frozenset({C}))
    stale = replace(seen.pods[B], annotations={INITIAL_STATE: "new"})
    seen = replace(seen, pods={**seen.pods, B: stale})

    decision = decide(seen, paused)

    assert actions(decision) == []
    assert actions(decide(replace(seen, namespace_ending=True), PERSISTENT)) == []
    assert len(actions(decide(seen, PERSISTENT))) > 1
    assert decision.status.control_paused
    assert decision.status.ready_members == 2
    assert condition(decision, "Degraded")[0] == "True"


def test_A14_a_revision_that_went_back_is_never_available() -> None:
    journal = latched(revision=100)

    decision = decide(look(journal, pods=MEMBERS, answering=MEMBERS))

    assert actions(decision) == []
    assert condition(decision, "Available") == ("False", "DataLost")
    assert condition(decision, "Stalled") == ("True", "DataLost")


def test_another_cluster_behind_the_same_names_is_never_available() -> None:
    strangers = {name: answer(name, cluster_id=99) for name in MEMBERS}

    seen = look(SHORT_LIVED, pods=MEMBERS, answers=strangers)
    assert condition(decide(seen), "Available") == ("Unknown", "EtcdUnreachable")

    decision = decide(replace(seen, ages=dict.fromkeys(map(stranger, MEMBERS), STRANGER_SECONDS)))

    assert condition(decision, "Available") == ("False", "ClusterIDMismatch")
    assert decision.status.phase == "Failed"


def test_A6_a_lost_quorum_that_comes_back_is_running_again() -> None:
    lost = decide(
        look(SERVED, pods=[A], volumes=MEMBERS, answers={A: answer(A, leader="")}, absent=frozenset({B, C})),
        PERSISTENT,
    )
    assert lost.status.phase == "Failed"
    back = look(lost.status.journal, pods=MEMBERS, volumes=MEMBERS, answering=MEMBERS)

    decision = decide(replace(back, status=lost.status), PERSISTENT)

    assert decision.status.phase == "Running"
    assert condition(decision, "Available") == ("True", "QuorumServes")


def test_silence_is_no_evidence() -> None:
    """The kubelet says that all are ready and none answers us: we may be cut off ourselves."""
    decision = decide(look(SHORT_LIVED, pods=MEMBERS))

    assert condition(decision, "Available") == ("Unknown", "EtcdUnreachable")
    assert decision.status.phase == "Running"


def test_A5_all_members_gone_is_told_as_it_is() -> None:
    decision = decide(look(SERVED, absent=frozenset(MEMBERS), absent_volumes=frozenset(MEMBERS)), PERSISTENT)

    assert condition(decision, "Available") == ("False", "DataLost")
    assert decision.status.ready_members == 0
    assert decision.status.observed_generation == 1
    assert not [action for action in actions(decision) if isinstance(action, CreatePod)]


def test_I6_each_condition_says_why_and_for_which_generation() -> None:
    for decision in (
        decide(look(SERVED, pods=MEMBERS, volumes=MEMBERS, answering=MEMBERS), PERSISTENT),
        decide(look(SERVED, absent=frozenset(MEMBERS)), PERSISTENT),
    ):
        types = [one.type for one in decision.status.conditions]
        assert types == [
            "Available",
            "Ready",
            "Progressing",
            "Degraded",
            "Stalled",
            "Scaling",
            "Upgrading",
            "Recovering",
        ]
        for one in decision.status.conditions:
            assert one.reason
            assert one.message
            assert one.observed_generation == 1


def test_the_spec_in_the_resource_is_named_when_it_breaks_the_rules() -> None:
    seen = look(SERVED, pods=[A, B], volumes=MEMBERS, answering=[A, B], absent=frozenset({C}))

    decision = decide(seen, PERSISTENT, invalid="spec.size: 9 is too many")

    assert condition(decision, "Stalled") == ("True", "SpecInvalid")
    assert [action.member for action in actions(decision)] == [C]


def test_the_service_for_clients_is_renamed_without_a_gap() -> None:
    spec = EPHEMERAL.model_copy(update={"service": ServicePolicy(name="door")})
    former = (ServiceFacts("c-client", "s", "4"),)
    seen = look(latched(), pods=MEMBERS, answering=MEMBERS, services=frozenset({"c"}), former_services=former)

    first = decide(seen, spec)
    assert actions(first) == [EnsureService("door", client=True)]
    assert condition(first, "Available")[0] == "True"
    assert first.status.service_name == "door"
    second = decide(replace(seen, services=frozenset({"c", "door"})), spec)
    assert actions(second) == [DeleteService("c-client", "s", "4")]


def test_the_retention_of_claims_that_exist_follows_the_spec() -> None:
    retained = PERSISTENT.model_copy(update={"data_retention": "Retain"})
    seen = look(SERVED, pods=MEMBERS, volumes=MEMBERS, answering=MEMBERS)

    assert actions(decide(seen, retained)) == [
        SetRetention(name, f"pvc-{name}", "3", retain=True) for name in MEMBERS
    ]
    kept = replace(seen, volumes={name: volume(name, SERVED, retained=True) for name in MEMBERS})
    assert actions(decide(kept, retained)) == []
    assert actions(decide(kept, PERSISTENT)) == [
        SetRetention(name, f"pvc-{name}", "3", retain=False) for name in MEMBERS
    ]


def test_X8_what_etcd_and_the_data_agree_on_goes_before_what_was_noted() -> None:
    journal = latched()
    assert journal.latch is not None
    wrong = journal.latch.members[A].model_copy(update={"id": "4d"})
    latch = journal.latch.model_copy(update={"members": {**journal.latch.members, A: wrong}})
    there = tuple(ListedMember(IDENTITY.member_ids[name], name, URLS[name]) for name in MEMBERS)
    seen = look(journal.model_copy(update={"latch": latch}), pods=MEMBERS, answering=MEMBERS, members=there)

    after = decide(seen).status.journal.latch

    assert after is not None
    assert after.members == journal.latch.members
    # Whoever answers at an address that was another's is not believed to be that one.
    other = replace(seen, answers={**seen.answers, A: answer(B)})
    unsure = decide(other).status.journal.latch
    assert unsure is not None
    assert unsure.members[A].id == "4d"


def test_a_list_is_not_believed_while_members_follow_different_leaders() -> None:
    """An old operator's first member, started on nothing, is a cluster of its own by our ids."""
    alone = answer(A, leader=A)
    seen = look(latched(), pods=MEMBERS, answering=MEMBERS)
    seen = replace(
        seen,
        answers={A: alone, B: answer(B, leader=B), C: answer(C, leader=B)},
        members=(ListedMember(IDENTITY.member_ids[A], A, URLS[A]),),
    )

    decision = decide(seen, EPHEMERAL.model_copy(update={"size": 1}))

    assert not [action for action in actions(decision) if isinstance(action, DeletePod | RemoveMember)]
    assert decision.status.journal.latch is not None
    assert decision.status.journal.latch.roster == MEMBERS
