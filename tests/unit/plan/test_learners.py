"""Which learners are given up before their time."""

from dataclasses import replace

import pytest

from app.api.cluster import ClusterSpec
from app.plan.membership.learners import LEAVING_SECONDS
from app.plan.symptoms import leaving, symptoms
from tests.unit.plan.looks import EPHEMERAL, PERSISTENT, condition, decide, latched, pod
from tests.unit.plan.seats import NEW, changes_of, seated, sized, with_learner


@pytest.mark.parametrize(
    ("spec", "age", "removed"),
    [(EPHEMERAL, 0.0, [NEW]), (PERSISTENT, LEAVING_SECONDS - 1, []), (PERSISTENT, LEAVING_SECONDS, [NEW])],
)
def test_X12_a_learner_whose_pod_goes_for_good_gives_way(
    spec: ClusterSpec, age: float, removed: list[str]
) -> None:
    """It was bound to a node that is cut off: evicted, it terminates for as long as that lasts."""
    seen = with_learner(latched(), serving=False)
    seen = replace(seen, pods={**seen.pods, NEW: replace(seen.pods[NEW], terminating=True, running=False)})
    assert leaving(NEW) in symptoms(seen)

    decision = decide(replace(seen, ages={leaving(NEW): age}), sized(4, spec))

    assert [change.member for change in changes_of(decision)] == removed
    assert [event.reason for event in decision.events] == ["LearnerGivenUp"] * len(removed)


def test_a_pod_that_is_no_members_any_more_and_does_not_go_is_what_ready_waits_for() -> None:
    journal = latched()
    seen = seated(journal)
    left = replace(pod(NEW, journal), terminating=True)

    decision = decide(replace(seen, pods={**seen.pods, NEW: left}))

    assert condition(decision, "Available") == ("True", "QuorumServes")
    assert condition(decision, "Ready") == ("False", "LeftoversRemain")
    (message,) = [one.message for one in decision.status.conditions if one.type == "Ready"]
    assert NEW in message
