"""Which spec is gone by."""

import json

from app.api.status import Bootstrap, ClusterStatus, Journal
from app.plan.accept import Accepted, Refused, accept
from app.plan.refusal import refuse
from tests.unit.plan.looks import CLUSTER, NOW

META = {"name": "c", "namespace": "ns"}
GOOD = {"size": 3, "version": "3.6.16", "repository": "quay.io/coreos/etcd", "paused": False}


def remembering(spec: dict[str, object], *members: str) -> ClusterStatus:
    record = Bootstrap(members=members) if members else None
    return ClusterStatus(journal=Journal(accepted_spec=json.dumps(spec), bootstrap=record))


def test_a_good_spec_is_accepted_and_remembered() -> None:
    accepted = accept(META, GOOD, ClusterStatus())

    assert isinstance(accepted, Accepted)
    assert accepted.invalid == ""
    assert json.loads(accepted.text) == GOOD
    assert accepted.spec.size == 3


def test_what_is_absent_means_what_the_status_says() -> None:
    """The object was stored while the webhook was away, so no default was written."""
    status = remembering({}, "a", "b", "c", "d", "e").model_copy(update={"current_version": "3.5.35"})

    accepted = accept(META, {}, status)

    assert isinstance(accepted, Accepted)
    assert (accepted.spec.size, accepted.spec.version) == (5, "3.5.35")


def test_W32_while_the_spec_is_invalid_the_last_accepted_one_is_gone_by() -> None:
    accepted = accept(META, {**GOOD, "size": 0}, remembering(GOOD))

    assert isinstance(accepted, Accepted)
    assert accepted.spec.size == 3
    assert "spec.size" in accepted.invalid
    assert json.loads(accepted.text) == GOOD


def test_pausing_is_obeyed_even_in_an_invalid_spec() -> None:
    accepted = accept(META, {**GOOD, "size": 0, "paused": True}, remembering(GOOD))

    assert isinstance(accepted, Accepted)
    assert accepted.spec.paused


def test_a_spec_that_was_never_acceptable_is_refused_in_the_status() -> None:
    spec = {**GOOD, "size": 99}

    refused = accept(META, spec, ClusterStatus())
    assert isinstance(refused, Refused)
    status = refuse(CLUSTER, ClusterStatus(), refused.words, now=NOW).status

    conditions = {one.type: one for one in status.conditions}
    assert conditions["Available"].reason == "SpecInvalid"
    assert "spec.size" in conditions["Available"].message
    assert status.phase == "Failed"


def test_a_memory_that_was_edited_by_hand_is_as_good_as_none() -> None:
    status = ClusterStatus(journal=Journal(accepted_spec="{"))

    accepted = accept(META, GOOD, status)

    assert isinstance(accepted, Accepted)
    assert accepted.invalid == ""
