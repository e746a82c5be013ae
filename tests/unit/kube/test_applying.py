"""What an object has, and what an apply would change."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.kube.api import Api
from app.kube.applying import NotOurs, apply, contains, digest
from app.kube.objects import Metadata, OwnerReference, Service
from app.kube.resources import SERVICES
from tests.unit.kube.fakes import FakeServer

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)
@given(json)
def test_everything_contains_itself(value: Any) -> None:
    assert contains(value, value)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), json), st.text(min_size=4), json)
def test_more_fields_do_not_matter_and_missing_ones_do(body: dict[str, Any], key: str, value: Any) -> None:
    assert contains({**body, key: value}, body)
    assert contains(body, {**body, key: value}) is (not value)


@pytest.mark.parametrize(
    ("live", "wanted", "expected"),
    [
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": "xy"}, {"a": ["x", "y"]}, False),
        ([{"name": "x", "port": 1, "nodePort": 3}], [{"name": "x", "port": 1}], True),
        ([{"name": "y"}, {"name": "x"}], [{"name": "x"}], True),
        ([{"name": "y"}], [{"name": "x"}], False),
        ([{"uid": "1", "name": "x"}], [{"uid": "2", "name": "x"}], False),
        ({}, {"a": None}, True),
        ({}, {"a": False, "b": {}, "c": []}, True),
        ({}, {"a": {"b": False}}, False),
        ({"a": 0}, {"a": None}, False),
    ],
)
def test_examples(live: Any, wanted: Any, expected: bool) -> None:
    assert contains(live, wanted) is expected


def test_digest_is_of_the_content() -> None:
    assert digest({"a": 1, "b": {"c": 2, "d": 3}}) == digest({"b": {"d": 3, "c": 2}, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


async def test_another_owners_object_is_left_alone() -> None:
    server = FakeServer()
    owner = OwnerReference(kind="EtcdCluster", name="other", uid="other", controller=True)
    live = Service(metadata=Metadata(name="x", namespace="ns", owner_references=(owner,)))
    body = {"metadata": {"name": "x", "namespace": "ns"}}
    with pytest.raises(NotOurs, match="Service ns/x exists and is controlled by EtcdCluster other"):
        await apply(Api(server), SERVICES, body, live=live, owner_uid="mine", marker="m")
    assert server.requests == []
