"""`spec.recovery`: deadlines, and what follows a lost quorum."""

from __future__ import annotations

from typing import Any

import pytest

from app.api.validation import validate
from app.api.verdict import Reason
from tests.unit.api.checks import faults, warnings
from tests.unit.api.objects import claim, cluster

PATH = "spec.recovery"


@pytest.mark.parametrize("seconds", [None, 30, 300, 604800])
def test_a_deadline_that_is_accepted(seconds: int | None) -> None:
    assert faults(cluster(recovery={"memberReplaceAfterSeconds": seconds})) == []


@pytest.mark.parametrize(("seconds", "nearest"), [(0, 30), (29, 30), (-1, 30), (604801, 604800)])
def test_a_deadline_that_is_denied(seconds: int, nearest: int) -> None:
    (fault,) = faults(cluster(recovery={"memberReplaceAfterSeconds": seconds}))

    assert (fault.path, fault.reason) == (f"{PATH}.memberReplaceAfterSeconds", Reason.INVALID)
    assert fault.nearest == nearest


@pytest.mark.parametrize("seconds", ["300", 1.5, True, []])
def test_a_deadline_of_another_type(seconds: Any) -> None:
    (fault,) = faults(cluster(recovery={"memberReplaceAfterSeconds": seconds}))

    assert (fault.path, fault.reason) == (f"{PATH}.memberReplaceAfterSeconds", Reason.TYPE)


@pytest.mark.parametrize("way", ["Manual", "ForceNewCluster"])
def test_ways_out_of_a_lost_quorum(way: str) -> None:
    given = cluster(pod={"persistentVolumeClaimSpec": claim()}, recovery={"quorumLoss": way})

    assert faults(given) == []
    assert not any(PATH in text for text in warnings(given))


def test_a_way_that_there_is_not() -> None:
    (fault,) = faults(cluster(recovery={"quorumLoss": "forceNewCluster"}))

    assert (fault.path, fault.reason, fault.nearest) == (f"{PATH}.quorumLoss", Reason.NOT_SUPPORTED, "Manual")


def test_restoring_is_denied_until_there_are_backups() -> None:
    by_value, by_reference = (
        validate(cluster(recovery=one)).faults
        for one in ({"quorumLoss": "Restore"}, {"backupRef": {"name": "b"}})
    )

    assert [(one.path, one.reason) for one in by_value] == [(f"{PATH}.quorumLoss", Reason.FORBIDDEN)]
    assert by_value[0].nearest == "Manual"
    assert [(one.path, one.reason) for one in by_reference] == [(f"{PATH}.backupRef", Reason.FORBIDDEN)]


def test_without_claims_there_is_nothing_to_go_on_with() -> None:
    given = cluster(recovery={"quorumLoss": "ForceNewCluster"})

    assert any(text.startswith(f"{PATH}.quorumLoss: has no effect") for text in warnings(given))


@pytest.mark.parametrize("recovery", ["Manual", [], 3])
def test_it_is_an_object(recovery: Any) -> None:
    (fault,) = faults(cluster(recovery=recovery))

    assert (fault.path, fault.reason) == (PATH, Reason.TYPE)
