"""Objects for hypothesis: any JSON at all, and clusters in which any part may be any JSON."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from app.api.crd import crds
from tests.unit.api import objects

if TYPE_CHECKING:
    from app.api.base import JsonObject

_TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            "", "app", "etcd_node", "etcd.version", "3.6.16", "v3.5.0", "3.5.5-rc.1", "1Gi", "-1", "500m",
            "ETCD_NAME", "ETCD_QUOTA_BACKEND_BYTES", "In", "Exists", "NoExecute", "a" * 300, "\ud800", "1e99",
        ]
    ),
)  # fmt: skip

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.integers(min_value=-3, max_value=9)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)
"""Any JSON, halves of surrogate pairs and numbers that are none included."""


def _of_schema(schema: JsonObject, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that a structural schema describes, and now and then one that it does not."""
    kind = schema.get("type")
    if kind == "object" and depth < 8:
        properties = schema.get("properties", {})
        fixed = {name: _of_schema(child, depth + 1) for name, child in properties.items()}
        if fixed:
            return st.fixed_dictionaries({}, optional=fixed) | json_values
        values = schema.get("additionalProperties")
        inner = json_values if values is None else _of_schema(values, depth + 1)
        return st.dictionaries(_TEXTS, inner, max_size=3)
    if kind == "array":
        return st.lists(_of_schema(schema["items"], depth + 1), max_size=3) | json_values
    if kind == "integer":
        return st.integers(min_value=-3, max_value=10) | json_values
    if kind == "boolean":
        return st.booleans() | json_values
    return _TEXTS | st.integers(min_value=-1, max_value=3) | json_values


def by_schema(plural: str) -> st.SearchStrategy[Any]:
    """Objects as the CRD describes them, with any JSON in any place."""
    return _of_schema(crds()[plural]["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(node, dict):
        for key, value in node.items():
            found += _places(value, (*path, key))
    elif isinstance(node, list):
        for position, value in enumerate(node):
            found += _places(value, (*path, position))
    return found


@st.composite
def broken_clusters(draw: st.DrawFn) -> Any:
    """A good cluster in which one to three parts are replaced by any JSON."""
    obj: Any = copy.deepcopy(draw(st.sampled_from([objects.FULL, objects.OLD, objects.EXAMPLE])))
    for _ in range(draw(st.integers(min_value=1, max_value=3))):
        path = draw(st.sampled_from(_places(obj)))
        value = draw(json_values)
        if not path:
            return value
        node = obj
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value
    return obj


anything = broken_clusters() | json_values
