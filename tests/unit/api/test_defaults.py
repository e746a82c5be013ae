"""What the mutating webhook fills in, and what it leaves alone."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.defaults import CREATED, default
from tests.unit.api.objects import EXAMPLE, FULL, cluster
from tests.unit.api.strategies import anything

EXPLICIT: tuple[Any, ...] = (0, False, "", {}, [], "x", 8, True)


def test_a_new_cluster_gets_every_default() -> None:
    assert default(cluster())["spec"] == {
        "size": 3,
        "repository": "quay.io/coreos/etcd",
        "version": "3.6.16",
        "paused": False,
        "podDisruptionBudget": True,
        "dataRetention": "Delete",
        "recovery": {"memberReplaceAfterSeconds": 300, "quorumLoss": "Manual"},
    }


def test_W18_what_is_absent_within_an_object_is_filled() -> None:
    given = cluster(recovery={"quorumLoss": "ForceNewCluster"})

    filled = default(given)["spec"]["recovery"]

    assert filled == {"memberReplaceAfterSeconds": 300, "quorumLoss": "ForceNewCluster"}
    assert given["spec"]["recovery"] == {"quorumLoss": "ForceNewCluster"}


def test_the_spec_itself_is_made() -> None:
    assert default({"metadata": {"name": "a"}})["spec"] == CREATED
    assert default({"metadata": {"name": "a"}, "spec": None})["spec"] == CREATED


@pytest.mark.parametrize("field", CREATED)
@pytest.mark.parametrize("value", EXPLICIT, ids=json.dumps)
def test_W18_what_is_given_stays(field: str, value: Any) -> None:
    filled = default(cluster(**{field: value}))["spec"]
    assert filled == {**CREATED, field: value}
    assert type(filled[field]) is type(value)


@pytest.mark.parametrize("field", CREATED)
def test_W18_absent_and_null_are_filled(field: str) -> None:
    assert default({"spec": {field: None}})["spec"][field] == CREATED[field]
    assert default(cluster())["spec"][field] == CREATED[field]


@pytest.mark.parametrize("value", [0, False, "", [], "spec", 3.5], ids=json.dumps)
def test_W18_a_spec_of_another_type_is_left_to_the_schema(value: Any) -> None:
    assert default({"spec": value}) == {"spec": value}


def test_W18_spellings_and_unknown_keys_survive() -> None:
    spec: dict[str, Any] = {
        "version": "v3.6.16",
        "pod": {
            "resources": {"requests": {"cpu": 1, "memory": "1024Mi"}},
            "later": {"a/b": [None, 0, {"~": 1}]},
        },
        "unknown": None,
    }
    filled = default(cluster(**spec))["spec"]
    assert filled == {**CREATED, **spec}


def test_an_update_takes_size_and_version_from_the_stored_object() -> None:
    stored = cluster(size=5, version="3.5.35", repository="registry.example/etcd", paused=True)
    assert default(cluster(), stored)["spec"] == {"size": 5, "version": "3.5.35"}
    assert default(cluster(size=None, version=None), stored)["spec"] == {"size": 5, "version": "3.5.35"}
    assert default(cluster(size=1, version="3.5.34"), stored)["spec"] == {"size": 1, "version": "3.5.34"}


def test_an_update_of_an_object_without_size_and_version_adds_none() -> None:
    new = cluster(paused=True)
    assert default(new, cluster()) is new
    assert default(new, cluster(size=None)) is new
    assert default(new, {"spec": "text"}) is new


def test_the_same_object_comes_back_when_nothing_is_missing() -> None:
    complete = default(FULL)
    assert default(complete) is complete


@given(anything)
def test_W20_a_second_call_fills_nothing(obj: Any) -> None:
    once = default(obj)
    assert default(once) is once


@given(anything, st.sampled_from([EXAMPLE, FULL]) | anything)
def test_W20_nor_does_it_on_an_update(obj: Any, old: Any) -> None:
    once = default(obj, old)
    assert default(once, old) is once


@given(anything)
def test_the_input_is_not_changed(obj: Any) -> None:
    before = copy.deepcopy(obj)
    default(obj)
    default(obj, FULL)
    assert repr(obj) == repr(before)
