"""Members of the old operator: adopted as they run, or left alone with what is in the way."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from app.api.status import Journal, LatchedMember
from app.etcd import identity
from app.plan.actions import Annotate, CreatePod, CreateVolume, EnsureService, RemoveMember, TakeOver
from app.plan.observed import ListedMember, Lock, Observed, PodFacts
from app.plan.revision import REVISION, revision
from app.plan.starting import ADOPTED, CLUSTER_ID, INITIAL_CLUSTER, INITIAL_STATE, MEMBER_ID
from app.plan.step import Plan
from app.plan.symptoms import locked
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
    look,
    pod,
    volume,
)

OLD = {"etcd.version": "3.2.13"}
LOCK = Lock("Endpoints ns/etcd-operator", "old-operator", "then", 15.0)


def old_pod(name: str, **changes: Any) -> PodFacts:
    return pod(name, Journal(), annotations=OLD, **changes)


def seat(name: str, **changes: Any) -> ListedMember:
    return replace(ListedMember(IDENTITY.member_ids[name], name, URLS[name]), **changes)


def old(members: Iterable[ListedMember] = tuple(map(seat, MEMBERS)), **changes: Any) -> Observed:
    """A look at three members of the old operator, all of which serve."""
    seen = look(Journal(), answering=MEMBERS)
    seen = replace(seen, pods={name: old_pod(name) for name in MEMBERS}, members=tuple(members))
    return replace(seen, **changes)


def goes_on(decision: Plan, **changes: Any) -> Observed:
    """The next look, with the status that was written."""
    return old(status=decision.status, leading_for=60.0, **changes)


def test_I8_members_of_the_old_operator_are_adopted_by_their_names_and_ids() -> None:
    decision = decide(old())

    latch = decision.status.journal.latch
    assert latch is not None
    assert actions(decision) == []
    assert latch.roster == MEMBERS
    assert latch.cluster_id == identity.text(IDENTITY.cluster_id)
    assert latch.members == {
        name: LatchedMember(id=identity.text(IDENTITY.member_ids[name]), adopted=True) for name in MEMBERS
    }
    assert [event.reason for event in decision.events] == ["Adopted"]


def test_I8_what_is_adopted_is_marked_and_not_restarted() -> None:
    after = decide(goes_on(decide(old())))

    marks = {action.name: action.annotations for action in actions(after) if isinstance(action, Annotate)}
    assert marks.keys() == set(MEMBERS)
    assert marks[A][CLUSTER_ID] == identity.text(IDENTITY.cluster_id)
    assert marks[A][MEMBER_ID] == identity.text(IDENTITY.member_ids[A])
    assert marks[A][ADOPTED] == "true"
    assert marks[A][REVISION] == revision(EPHEMERAL)
    assert not [action for action in actions(after) if not isinstance(action, Annotate)]
    assert condition(after, "Available")[0] == "True"


def test_an_adopted_cluster_is_settled() -> None:
    first = decide(goes_on(decide(old())))
    marks = {action.name: action.annotations for action in actions(first) if isinstance(action, Annotate)}
    pods = {name: old_pod(name) for name in MEMBERS}
    marked = {name: replace(pods[name], annotations={**OLD, **marks[name]}) for name in MEMBERS}

    after = decide(goes_on(first, pods=marked))

    assert actions(after) == []
    assert condition(after, "Ready")[0] == "True"
    assert after.status == first.status


def test_the_services_of_the_old_operator_that_nobody_owns_are_taken_over() -> None:
    ownerless = frozenset({("Service", "c", "uid-s")})
    begun = decide(old(services=frozenset(), ownerless=ownerless, conflicts=("Service/c",)))

    after = decide(goes_on(begun, services=frozenset(), ownerless=ownerless))

    assert TakeOver("c", "uid-s") in actions(after)
    assert EnsureService("c-client", client=True) in actions(after)


def test_a_service_of_somebody_elses_is_in_the_way() -> None:
    decision = decide(old(conflicts=("Service/c-client",)))

    assert decision.status.journal.latch is None
    assert condition(decision, "Stalled") == ("True", "NameConflict")


@pytest.mark.parametrize(("age", "adopted"), [(0.0, False), (14.9, False), (15.0, True)])
def test_nothing_is_adopted_before_the_old_operators_lock_has_run_out(age: float, adopted: bool) -> None:
    decision = decide(old(old_locks=(LOCK,), ages={locked(LOCK): age}))

    assert (decision.status.journal.latch is not None) == adopted
    assert actions(decision) == []
    if not adopted:
        assert condition(decision, "Available") == ("False", "ClaimedByAnother")


def test_a_lock_that_is_renewed_is_another_one_to_time() -> None:
    assert locked(LOCK) != locked(replace(LOCK, renewed="later"))


BLOCKED = {
    "a Pod that is no member": {"pods": {name: old_pod(name) for name in (*MEMBERS, "c-stray00000")}},
    "a Pod that answers as another member": {"answers": {A: answer(A), B: answer(B), C: answer(A)}},
    "answers for two clusters": {"answers": {A: answer(A), B: answer(B), C: answer(C, cluster_id=7)}},
    "a member whose Pod is not ours": {"pods": {name: old_pod(name) for name in (A, B)}},
    "a member that can't be told": {
        "members": (*map(seat, MEMBERS), ListedMember(9, "", "http://10.0.0.9:2380"))
    },
}


@pytest.mark.parametrize("what", BLOCKED)
def test_members_that_are_not_exactly_those_of_one_cluster_are_left_alone(what: str) -> None:
    decision = decide(replace(old(), **BLOCKED[what]))  # type: ignore[arg-type]

    assert decision.status.journal.latch is None
    assert actions(decision) == []
    assert condition(decision, "Stalled") == ("True", "AdoptionBlocked")


WAITING: dict[str, dict[str, Any]] = {
    "nobody answers": {"members": None, "answers": {}},
    "no quorum serves": {"answers": {A: answer(A), B: answer(B, leader="")}},
    "a Pod that ends": {
        "pods": {**{name: old_pod(name) for name in (A, B)}, C: old_pod(C, terminating=True)}
    },
}


@pytest.mark.parametrize("what", WAITING)
def test_adoption_waits_for_what_passes(what: str) -> None:
    decision = decide(replace(old(), **WAITING[what]))

    assert decision.status.journal.latch is None
    assert actions(decision) == []
    assert condition(decision, "Available") == ("False", "Adopting")


def test_claims_of_which_no_member_runs_are_existing_data() -> None:
    seen = replace(look(Journal()), volumes={A: volume(A, Journal())})

    decision = decide(seen, PERSISTENT)

    assert actions(decision) == []
    assert condition(decision, "Stalled") == ("True", "ExistingDataFound")


def test_a_paused_cluster_is_recorded_and_not_marked() -> None:
    spec = EPHEMERAL.model_copy(update={"paused": True})
    decision = decide(old(), spec)

    assert decision.status.journal.latch is not None
    assert actions(decide(goes_on(decision), spec)) == []


def test_a_member_that_ended_on_an_empty_dir_is_adopted_to_be_replaced() -> None:
    """Its Pod is never restarted (restartPolicy Never), and its data went with it."""
    ended = {
        **{name: old_pod(name) for name in (A, B)},
        C: old_pod(C, running=False, ready=False, phase="Failed"),
    }
    two = {name: answer(name) for name in (A, B)}
    begun = decide(old(pods=ended, answers=two))

    after = decide(goes_on(begun, pods=ended, answers=two))

    assert [action.member for action in actions(after) if isinstance(action, RemoveMember)] == [C]


def test_a_member_without_a_pod_is_adopted_once_a_live_read_found_none() -> None:
    two = {name: answer(name) for name in (A, B)}
    pods = {name: old_pod(name) for name in (A, B)}

    decision = decide(old(pods=pods, answers=two, absent=frozenset({C})))

    assert decision.status.journal.latch is not None
    assert decision.status.journal.latch.roster == MEMBERS


def test_a_voter_that_the_old_operator_added_and_never_started_is_finished() -> None:
    """The old operator's crash between its add and the Pod; the list knows the name by the peer URL."""
    late = seat(C, started=False)
    pods = {name: old_pod(name) for name in (A, B)}
    two = {name: answer(name) for name in (A, B)}
    members, absent = (seat(A), seat(B), late), frozenset({C})
    begun = decide(old(members, pods=pods, answers=two, absent=absent))
    assert begun.status.journal.latch is not None
    assert set(begun.status.journal.latch.members) == {A, B}

    after = decide(
        goes_on(begun, members=(seat(A), seat(B), late), pods=pods, answers=two, absent=frozenset({C}))
    )

    (made,) = [action for action in actions(after) if isinstance(action, CreatePod)]
    assert made.member == C
    assert made.annotations[INITIAL_STATE] == "existing"
    assert not made.as_root


def on_claims(**changes: Any) -> Observed:
    claims = {name: volume(name, Journal()) for name in MEMBERS}
    return old(volumes=claims, **changes)


def test_a_member_on_a_claim_is_made_anew_in_our_shape_as_root_under_its_name() -> None:
    begun = decide(on_claims(), PERSISTENT)
    latch = begun.status.journal.latch
    assert latch is not None
    assert latch.members[C].pvc_uid == f"pvc-{C}"
    pods = {name: old_pod(name) for name in (A, B)}
    two = {name: answer(name) for name in (A, B)}
    seen = on_claims(status=begun.status, pods=pods, answers=two, absent=frozenset({C}), leading_for=60.0)

    after = decide(seen, PERSISTENT)

    (made,) = [action for action in actions(after) if isinstance(action, CreatePod)]
    assert made.member == C
    assert made.as_root
    assert made.annotations[INITIAL_STATE] == "existing"
    assert not [action for action in actions(after) if isinstance(action, CreateVolume | RemoveMember)]


def test_the_peer_urls_that_etcd_has_are_kept() -> None:
    """The old operator forgot its cluster domain when it was restarted, so members may differ in it."""
    there = [seat(A), seat(B), seat(C, peer_url=f"http://{C}.c.ns.svc.example.org:2380")]
    begun = decide(old(there))
    latch = begun.status.journal.latch
    assert latch is not None
    assert [latch.members[name].peer_url for name in MEMBERS] == ["", "", there[2].peer_url]

    after = decide(goes_on(begun, members=tuple(there)))

    marks = {action.name: action.annotations for action in actions(after) if isinstance(action, Annotate)}
    assert f"{C}={there[2].peer_url}" in marks[A][INITIAL_CLUSTER].split(",")


def test_what_was_adopted_is_known_from_its_marks_when_the_status_is_lost() -> None:
    begun = decide(old())
    first = decide(goes_on(begun))
    marks = {action.name: action.annotations for action in actions(first) if isinstance(action, Annotate)}
    pods = {name: replace(old_pod(name), annotations={**OLD, **marks[name]}) for name in MEMBERS}

    after = decide(old(pods=pods))

    assert after.status.journal.latch is not None
    assert begun.status.journal.latch is not None
    assert after.status.journal.latch.members == begun.status.journal.latch.members


def test_nothing_is_recorded_while_the_caches_lack_what_a_live_list_shows() -> None:
    """A claim that is not seen yet would be noted as none, and later taken for another one: data lost."""
    claims = {name: volume(name, Journal()) for name in (A, B)}
    decision = decide(old(volumes=claims, unseen=(f"PersistentVolumeClaim/{C}",)), PERSISTENT)

    assert decision.status.journal.latch is None
    assert actions(decision) == []
    founding = decide(replace(look(Journal()), unseen=(f"Pod/{A}",)))
    assert founding.status.journal.bootstrap is None
    assert condition(founding, "Available") == ("False", "MemberUnknown")
