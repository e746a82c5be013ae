from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhooks.jsonpatch import NotAdditiveError, additions

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~01", max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text("ab/~01", max_size=3), JSON, max_size=4)


def test_equal_documents_give_no_operation() -> None:
    assert additions({"a": {"b": [1, {"c": None}]}}, {"a": {"b": [1, {"c": None}]}}) == []


def test_absent_is_added_and_null_is_replaced() -> None:
    assert additions({"b": None}, {"a": 1, "b": 2}) == [
        {"op": "add", "path": "/a", "value": 1},
        {"op": "replace", "path": "/b", "value": 2},
    ]


def test_missing_parents_come_with_all_that_is_below() -> None:
    assert additions({}, {"spec": {"pod": {"x": 1}}}) == [
        {"op": "add", "path": "/spec", "value": {"pod": {"x": 1}}}
    ]


def test_slashes_and_tildes_are_escaped() -> None:
    (operation,) = additions({"a/b": {}}, {"a/b": {"~1": 0}})
    assert operation["path"] == "/a~1b/~01"


def test_additions_reach_into_lists() -> None:
    assert additions({"l": [{"a": 1}, {}]}, {"l": [{"a": 1}, {"b": 2}]}) == [
        {"op": "add", "path": "/l/1/b", "value": 2}
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1}, {}),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 0}, {"a": False}),
        ({"a": [1]}, {"a": [1, 2]}),
        ({"a": {}}, {"a": []}),
        ({"a": 1}, {"a": None}),
    ],
)
def test_whatever_would_change_a_users_word_is_refused(before: dict[str, Any], after: dict[str, Any]) -> None:
    with pytest.raises(NotAdditiveError):
        additions(before, after)


def _apply(document: Any, operations: list[dict[str, Any]]) -> Any:
    for operation in operations:
        *parents, last = [
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        ]
        target = document
        for part in parents:
            target = target[int(part)] if isinstance(target, list) else target[part]
        assert (operation["op"] == "replace") == (last in target)
        target[last] = operation["value"]
    return document


def _merged(before: Any, extra: Any) -> Any:
    if before is None:
        return extra
    if isinstance(before, dict) and isinstance(extra, dict):
        return {**extra, **{key: _merged(value, extra.get(key)) for key, value in before.items()}}
    return before


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=OBJECTS, extra=OBJECTS)
def test_patch_leads_to_the_second_document_and_is_idempotent(
    before: dict[str, Any], extra: dict[str, Any]
) -> None:
    after = _merged(before, extra)
    assert _apply(_copy(before), additions(before, after)) == after
    assert additions(after, _copy(after)) == []


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
