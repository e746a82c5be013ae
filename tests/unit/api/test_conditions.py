"""Conditions move their times by the rules of KEP-1623, and only when something changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.api.conditions import find, is_true, remove_condition, set_condition, timestamp
from app.api.status import ClusterStatus, Condition
from tests.unit.api.objects import OLD_STATUS

T0 = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)
T1 = T0 + timedelta(minutes=5)


def test_a_new_condition_has_both_times() -> None:
    (condition,) = set_condition((), "Available", True, reason="QuorumServes", generation=2, now=T0)
    assert condition.to_json() == {
        "type": "Available",
        "status": "True",
        "observedGeneration": 2,
        "lastUpdateTime": "2030-01-01T12:00:00Z",
        "lastTransitionTime": "2030-01-01T12:00:00Z",
        "reason": "QuorumServes",
        "message": "",
    }


def test_setting_what_is_set_changes_nothing() -> None:
    before = set_condition((), "Available", True, reason="A", message="m", generation=1, now=T0)
    assert set_condition(before, "Available", True, reason="A", message="m", generation=1, now=T1) is before


def test_a_new_reason_moves_the_update_and_not_the_transition() -> None:
    before = set_condition((), "Available", False, reason="A", now=T0)
    (after,) = set_condition(before, "Available", False, reason="B", now=T1)
    assert (after.last_transition_time, after.last_update_time) == (timestamp(T0), timestamp(T1))


def test_a_flip_moves_both() -> None:
    before = set_condition((), "Available", True, reason="A", now=T0)
    (after,) = set_condition(before, "Available", None, reason="A", now=T1)
    assert after.status == "Unknown"
    assert (after.last_transition_time, after.last_update_time) == (timestamp(T1), timestamp(T1))


def test_a_new_generation_moves_no_time() -> None:
    before = set_condition((), "Available", True, reason="A", generation=1, now=T0)
    (after,) = set_condition(before, "Available", True, reason="A", generation=2, now=T1)
    assert after.observed_generation == 2
    assert (after.last_transition_time, after.last_update_time) == (timestamp(T0), timestamp(T0))


def test_conditions_of_the_old_operator_are_taken_over() -> None:
    before = ClusterStatus.model_validate(OLD_STATUS).conditions
    after = set_condition(before, "Available", True, reason="QuorumServes", now=T1)
    available = find(after, "Available")
    assert available is not None
    assert available.last_transition_time == "2019-03-01T10:00:00Z"
    assert [condition.type for condition in after] == ["Available", "Scaling"]
    assert after[1] is before[1]


def test_an_empty_time_of_transition_is_filled() -> None:
    before = (Condition(type="Scaling", status="True", reason="r", last_transition_time=""),)
    (after,) = set_condition(before, "Scaling", True, reason="r", now=T1)
    assert after.last_transition_time == timestamp(T1)


def test_finding_and_removing() -> None:
    conditions = set_condition((), "Available", True, reason="A", now=T0)
    assert is_true(conditions, "Available")
    assert not is_true(conditions, "Scaling")
    assert remove_condition(conditions, "Scaling") is conditions
    assert remove_condition(conditions, "Available") == ()


def test_times_are_utc() -> None:
    assert timestamp(datetime(2030, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == "2030-01-01T00:00:00Z"
    with pytest.raises(ValueError, match="zone"):
        timestamp(datetime(2030, 1, 1))  # noqa: DTZ001 - a time without a zone is the point
