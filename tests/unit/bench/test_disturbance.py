import os

import pytest

from bench import disturbance
from bench.disturbance import Meter


def test_what_others_took_is_what_was_spent_and_was_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    spent, now = iter((10.0, 12.5)), iter((100.0, 102.0))
    monkeypatch.setattr(disturbance, "_spent", lambda _processors: next(spent))
    monkeypatch.setattr("bench.disturbance.time.monotonic", lambda: next(now))

    meter = Meter({0, 1})

    assert meter.others(1.5) == pytest.approx((2.5 - 1.5) / (2 * 2.0))


def test_the_ticks_of_a_clock_are_no_negative_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disturbance, "_spent", lambda _processors: 10.0)
    assert Meter({0}).others(0.01) == 0


def test_the_processors_of_this_machine_are_read() -> None:
    assert 0 <= Meter(os.sched_getaffinity(0)).others(0) <= 1.1
