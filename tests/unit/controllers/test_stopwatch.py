"""Deadlines run on this process's own clock, from its own first look."""

import time

import pytest

from app.controllers.stopwatch import Stopwatch


def test_X33_a_clock_that_jumps_lets_no_deadline_fall_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither forwards nor backwards: NTP, a suspended machine, a person with `date`."""
    stopwatch = Stopwatch()
    assert stopwatch.time("ns/c", ["unhealthy/m"]) == {"unhealthy/m": 0.0}
    for jump in (86_400.0, -86_400.0):
        there = time.time() + jump
        monkeypatch.setattr(time, "time", lambda there=there: there)
        age = stopwatch.time("ns/c", ["unhealthy/m"])["unhealthy/m"]
        assert 0.0 <= age < 60.0


def test_a_takeover_times_from_its_own_first_look() -> None:
    now = 0.0
    stopwatch = Stopwatch(clock=lambda: now)
    stopwatch.time("ns/c", ["a"])
    now = 299.0
    stopwatch.restart()

    assert stopwatch.time("ns/c", ["a"]) == {"a": 0.0}


def test_a_symptom_that_was_gone_in_between_is_timed_anew() -> None:
    now = 0.0
    stopwatch = Stopwatch(clock=lambda: now)
    stopwatch.time("ns/c", ["a", "b"])
    now = 100.0
    stopwatch.time("ns/c", ["b"])
    now = 200.0

    assert stopwatch.time("ns/c", ["a", "b"]) == {"a": 0.0, "b": 200.0}
    stopwatch.forget("ns/c")
    assert stopwatch.time("ns/c", ["b"]) == {"b": 0.0}
