"""Changes of the membership: what is sent, in which order, and what is never sent."""

from dataclasses import replace

import pytest

from app.api.status import Intent
from app.plan.actions import (
    AddMember,
    Annotate,
    CreatePod,
    PromoteMember,
    RemoveMember,
)
from app.plan.membership.changes import IN_SYNC
from app.plan.membership.learners import LEARNER_SECONDS
from app.plan.membership.promotion import DOUBT_SECONDS
from app.plan.starting import INITIAL_CLUSTER, INITIAL_STATE
from app.plan.symptoms import joining, symptoms, unhealthy
from tests.unit.plan.looks import (
    IDENTITY,
    MEMBERS,
    URLS,
    A,
    B,
    C,
    actions,
    answer,
    condition,
    decide,
    latched,
)
from tests.unit.plan.seats import NEW, NEW_ID, changes_of, seat, seated, sized, with_learner


def test_a_cluster_grows_by_a_learner_whose_intent_is_written_first() -> None:
    decision = decide(seated(latched()), sized(5))

    (add,) = changes_of(decision)
    assert isinstance(add, AddMember)
    assert add.learner
    assert add.member not in MEMBERS
    assert add.member in add.peer_url
    intent = decision.status.journal.intent
    assert intent is not None
    assert (intent.action, intent.member) == ("Add", add.member)
    assert decision.status.journal.next_index == 4
    assert condition(decision, "Scaling") == ("True", "ScalingUp")
    assert not [action for action in actions(decision) if isinstance(action, CreatePod)]


def test_an_add_whose_outcome_is_unknown_is_sent_again_under_its_name() -> None:
    journal = latched().model_copy(update={"intent": Intent(action="Add", member=NEW), "next_index": 9})

    (add,) = changes_of(decide(seated(journal), sized(5)))

    assert add.member == NEW
    assert decide(seated(journal), sized(5)).events == ()


def test_B6_a_nameless_member_of_ours_is_finished() -> None:
    """The add was carried out and nobody was told: the list shows it, by its peer URL."""
    journal = latched().model_copy(update={"intent": Intent(action="Add", member=NEW), "next_index": 9})
    there = seat(NEW, learner=True, started=False)

    decision = decide(seated(journal, [*map(seat, MEMBERS), there]), sized(5))

    (created,) = [action for action in actions(decision) if isinstance(action, CreatePod)]
    assert created.member == NEW
    assert created.annotations[INITIAL_STATE] == "existing"
    assert set(created.annotations[INITIAL_CLUSTER].split(",")) >= {
        f"{name}={URLS[name]}" for name in MEMBERS
    }
    assert f"{NEW}=" in created.annotations[INITIAL_CLUSTER]
    assert decision.status.journal.intent is None
    assert changes_of(decision) == []


def test_C9_a_learner_is_promoted_when_it_is_in_sync_and_not_before() -> None:
    behind = decide(with_learner(latched(), lag=IN_SYNC + 1), sized(5))
    assert changes_of(behind) == []

    (promote,) = changes_of(decide(with_learner(latched(), lag=10), sized(5)))
    assert promote == PromoteMember(NEW, NEW_ID, promote.via)


def test_no_learner_is_promoted_without_a_healthy_quorum_after_it() -> None:
    """One of three serves on: with the learner, of four voters two would."""
    seen = with_learner(latched(), lag=10)
    going = {name: replace(seen.pods[name], terminating=True) for name in (B, C)}

    decision = decide(replace(seen, pods={**seen.pods, **going}), sized(4))

    assert changes_of(decision) == []
    assert condition(decision, "Degraded") == ("True", "MembersUnready")


def test_there_is_one_learner_at_a_time() -> None:
    decision = decide(with_learner(latched(), serving=False), sized(7))

    assert changes_of(decision) == []


def test_X12_a_learner_that_never_gets_in_sync_is_given_up() -> None:
    stuck = with_learner(latched(), serving=False, ages={joining(NEW): LEARNER_SECONDS + 1})

    (remove,) = changes_of(decide(stuck, sized(5)))

    assert isinstance(remove, RemoveMember)
    assert remove.id == NEW_ID


def test_A7_A8_X10_a_joiner_gets_the_list_as_it_is_now() -> None:
    """Its list was made before another member went; with it etcd exits: member count is unequal."""
    seen = with_learner(latched(), serving=False)
    stale = replace(seen.pods[NEW], annotations={INITIAL_STATE: "existing", INITIAL_CLUSTER: "old"})

    decision = decide(replace(seen, pods={**seen.pods, NEW: stale}), sized(4))

    (mark,) = [action for action in actions(decision) if isinstance(action, Annotate)]
    assert mark.name == NEW
    assert len(mark.annotations[INITIAL_CLUSTER].split(",")) == 4


def test_X18_the_dead_member_goes_before_another_is_added() -> None:
    seen = seated(latched(), [seat(A), seat(B)], absent=frozenset({C}))
    seen = replace(seen, pods={A: seen.pods[A], B: seen.pods[B]}, answers={A: answer(A), B: answer(B)})

    (add,) = changes_of(decide(seen))

    assert isinstance(add, AddMember)
    assert add.member not in MEMBERS


def test_nothing_is_added_while_a_voter_is_down() -> None:
    seen = seated(latched())
    down = replace(seen, answers={A: answer(A), B: answer(B)})

    assert changes_of(decide(down, sized(5))) == []


def test_C4_an_unhealthy_member_is_the_first_to_go() -> None:
    seen = seated(latched(), ages={unhealthy(B): 1.0})
    seen = replace(seen, answers={A: answer(A), C: answer(C)})

    (remove,) = changes_of(decide(seen, sized(2)))

    assert remove.member == B


def test_C1_the_leader_is_not_the_one_to_go_while_there_are_others() -> None:
    for leader in MEMBERS:
        seen = seated(latched())
        seen = replace(seen, answers={name: answer(name, leader=leader) for name in MEMBERS})

        (remove,) = changes_of(decide(seen, sized(2)))

        assert isinstance(remove, RemoveMember)
        assert remove.member != leader
        assert remove.via.member_id == IDENTITY.member_ids[leader]


def test_a_learner_goes_before_a_voter_when_the_cluster_is_to_be_smaller_again() -> None:
    """3 → 5 → 3: the change of mind leaves nothing over."""
    (remove,) = changes_of(decide(with_learner(latched()), sized(3)))

    assert remove.id == NEW_ID


def test_a_shrink_that_would_cost_the_quorum_is_told_and_not_done() -> None:
    """Two of three serve and one is to be left: without the dead one first there is no way down to it."""
    seen = seated(latched())
    seen = replace(seen, answers={A: answer(A), B: answer(B, leader=""), C: answer(C, leader="")})

    decision = decide(seen, sized(1))

    assert changes_of(decision) == []
    assert condition(decision, "Stalled")[0] == "False"


def test_without_the_list_nothing_is_changed_or_deleted() -> None:
    seen = replace(seated(latched()), members=None)

    assert actions(decide(seen, sized(1))) == []


def test_a_new_leader_waits_until_no_call_of_the_last_one_can_be_under_way() -> None:
    assert changes_of(decide(seated(latched(), leading_for=4.9), sized(5))) == []
    assert changes_of(decide(seated(latched(), leading_for=5.0), sized(5))) != []


def test_while_paused_the_membership_is_left_alone() -> None:
    decision = decide(seated(latched()), sized(5).model_copy(update={"paused": True}))

    assert actions(decision) == []
    assert decision.status.journal.intent is None


def test_versions_without_learners_grow_by_voters() -> None:
    old = sized(5).model_copy(update={"version": "3.3.27"})

    (add,) = changes_of(decide(seated(latched()), old))

    assert not add.learner


def test_members_that_know_no_learners_are_given_none_whatever_the_spec_says() -> None:
    """An etcd of 3.3 takes a learner for a voter, in silence; an old operator may have left such members."""
    seen = seated(latched())
    mixed = {**seen.answers, B: answer(B, version="3.3.27")}

    (add,) = changes_of(decide(replace(seen, answers=mixed), sized(5)))

    assert not add.learner


def test_X19_a_voter_that_may_have_been_added_is_started_while_nobody_can_list_it() -> None:
    """One member and an added voter are no quorum without it: waiting for the list would be for ever."""
    intent = Intent(action="AddVoter", member=NEW)
    journal = latched().model_copy(update={"intent": intent, "next_index": 9})
    seen = replace(seated(journal), members=None, answers={A: answer(A, leader="")})
    old = sized(5).model_copy(update={"version": "3.3.27"})

    decision = decide(seen, old)

    (created,) = [action for action in actions(decision) if isinstance(action, CreatePod)]
    assert created.member == NEW
    assert created.annotations[INITIAL_STATE] == "existing"
    assert f"{NEW}=" in created.annotations[INITIAL_CLUSTER]
    assert decision.status.journal.intent == intent
    learner = journal.model_copy(update={"intent": Intent(action="Add", member=NEW)})
    waiting = replace(seen, status=seen.status.model_copy(update={"journal": learner}))
    assert not [action for action in actions(decide(waiting, old)) if isinstance(action, CreatePod)]


@pytest.mark.parametrize("intent", [Intent(action="Add", member=NEW), Intent(action="Remove", member=C)])
def test_an_intent_that_is_not_wanted_any_more_is_dropped(intent: Intent) -> None:
    """The size was changed back, or the member came back, before etcd took the change."""
    decision = decide(seated(latched().model_copy(update={"intent": intent})))

    assert changes_of(decision) == []
    assert decision.status.journal.intent is None


@pytest.mark.parametrize(
    ("known", "own"),
    [({}, True), ({A: frozenset({NEW_ID})}, False), ({A: frozenset({NEW_ID}), B: frozenset()}, False)],
)
def test_X13_a_promotion_is_believed_when_every_member_lists_it(
    known: dict[str, frozenset[int]], own: bool
) -> None:
    seen = with_learner(latched())
    voters = [*map(seat, MEMBERS), seat(NEW)]
    said = {**seen.answers, NEW: replace(seen.answers[NEW], learner=own)}
    pods = {**seen.pods, NEW: replace(seen.pods[NEW], ready=True)}
    seen = replace(seen, members=tuple(voters), answers=said, pods=pods, learners_known=known)

    decision = decide(seen, sized(5))
    assert changes_of(decision) == []
    assert condition(decide(seen, sized(4)), "Ready") == ("False", "PromotionUnverified")
    assert condition(decision, "Degraded")[0] == "False"
    lasts = replace(seen, ages=dict.fromkeys(symptoms(seen), DOUBT_SECONDS))
    assert condition(decide(lasts, sized(5)), "Degraded") == ("True", "PromotionUnverified")

    agreed = replace(seen, learners_known={A: frozenset(), "c-removed": frozenset({NEW_ID})})
    agreed = replace(agreed, answers={**said, NEW: replace(said[NEW], learner=False)})
    assert condition(decide(agreed, sized(4)), "Ready") == ("True", "AsSpecified")
    (add,) = changes_of(decide(agreed, sized(5)))
    assert isinstance(add, AddMember)


def test_X13_a_voter_that_says_itself_that_it_is_not_ready_keeps_the_cluster_from_being_ready() -> None:
    """A member that takes itself for a learner answers /readyz with 503, and its kubelet says so."""
    seen = seated(latched())
    seen = replace(seen, pods={**seen.pods, C: replace(seen.pods[C], ready=False)})

    assert condition(decide(seen), "Ready") == ("False", "MembersUnready")


def test_X37_a_large_database_gets_the_time_that_it_takes() -> None:
    """10 GB at 5 MB/s are 2000 s more; meanwhile nobody else is added."""
    seen = with_learner(latched(), lag=5000)
    large = {name: replace(said, db_size=10_000_000_000) for name, said in seen.answers.items()}
    for age, removed in ((LEARNER_SECONDS + 1999.0, []), (LEARNER_SECONDS + 2000.0, [NEW])):
        waiting = replace(seen, answers=large, ages={joining(NEW): age})
        changes = changes_of(decide(waiting, sized(5)))
        assert [action.member for action in changes] == removed
        assert not [action for action in changes if isinstance(action, AddMember)]
