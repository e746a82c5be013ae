"""The walks find it out when a rule is left out: each of these would lose data, or the quorum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.plan import latching, starting
from app.plan.membership import changes
from app.plan.membership.seats import Seats
from tests.unit.simulation.walk import draw, failure

if TYPE_CHECKING:
    import pytest

SEEDS = range(100, 300)
LENGTH = 250


def found_out() -> str:
    """What the first walk that fails says; empty when none does."""
    return next(filter(None, (failure(draw(seed, LENGTH)) for seed in SEEDS)), "")


def yes(*_: Any, **__: Any) -> bool:
    return True


def no(*_: Any, **__: Any) -> bool:
    return False


def test_X9_what_served_is_not_started_as_a_founder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "served", no)

    assert "lost" in found_out()


def test_founders_are_turned_to_existing_before_clients_are_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latching, "annotations", lambda *_: {})

    assert "lost" in found_out()


def test_a_new_leader_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "CALL_SECONDS", 0.0)

    assert "did not wait" in found_out()


def test_no_member_is_removed_without_the_gate_of_the_quorum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seats, "may_remove", yes)

    assert "removed" in found_out() or "quorum" in found_out()
