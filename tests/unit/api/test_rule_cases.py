"""No rule without a case: the cases are what the webhook is tested with through a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from app.api import cel, unbuilt
from app.api.kinds import rules_for
from tests.unit.api import rule_cases
from tests.unit.api.rule_cases import (
    CHANGES,
    CREATIONS,
    KINDS,
    NEW_KINDS,
    OTHERWISE,
    SCALES,
    WARNED,
    Case,
    Rule,
    noting,
)

ALL = [*CREATIONS, *CHANGES, *SCALES, *WARNED, *KINDS, *NEW_KINDS]


def test_every_rule_has_a_case() -> None:
    found: set[Rule] = set()
    with noting(found):
        for case in ALL:
            case.judge()
    missing = {str(rule) for rule in rule_cases.rules() - found}
    assert missing == set(OTHERWISE)


def test_every_rule_of_cel_has_a_case() -> None:
    said = {fault.message for case in ALL for fault in case.judge().faults}
    for kind in ("EtcdCluster", "EtcdBackup", "EtcdRestore"):
        for rules in cel.rules_of(kind).values():
            for rule in rules:
                assert any(text.startswith(rule["message"]) for text in said), rule["message"]


@pytest.mark.parametrize("case", [*CREATIONS, *CHANGES, *SCALES, *NEW_KINDS], ids=Case.named)
def test_cases_are_denied(case: Case) -> None:
    assert case.judge().faults


@pytest.mark.parametrize("case", KINDS, ids=Case.named)
def test_changes_of_other_kinds_are_denied(case: Case) -> None:
    assert case.judge().faults


@pytest.mark.parametrize("case", WARNED, ids=Case.named)
def test_warned_ones_pass(case: Case) -> None:
    verdict = case.judge()
    assert verdict.warnings
    assert not verdict.faults


@pytest.mark.parametrize("case", CREATIONS, ids=Case.named)
def test_what_a_denial_advises_is_allowed(case: Case) -> None:
    rules = rules_for("EtcdCluster")
    assert rules is not None
    mended: Any = case.mended()
    assert rules.validate(mended, None).faults == ()


def test_kinds_that_nothing_reconciles_are_those_that_are_denied() -> None:
    assert {case.new["kind"] for case in NEW_KINDS} == unbuilt.KINDS
