"""Field paths as the API server writes them: ``spec.pod.labels[app]``, ``spec.pod.tolerations[0].effect``."""

from functools import lru_cache
from typing import Any

from app.api.base import JsonObject
from app.api.verdict import Report


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def lookup(obj: Any, path: str) -> Any:
    """Return the value at a dotted path without indexes, or ``None`` where anything on the way is missing."""
    node = obj
    for step in _steps(path):
        if not isinstance(node, dict):
            return None
        node = node.get(step)
    return node


def whole_number(value: Any) -> int | None:
    """Return an integer of JSON as such, 3.0 included, which the API server takes for 3; else ``None``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None


def object_at(parent: JsonObject, key: str, path: str, report: Report) -> JsonObject | None:
    """Return the object under a key, ``None`` where it is absent; another type is reported."""
    value = parent.get(key)
    if value is None or isinstance(value, dict):
        return value
    report.wrong_type(f"{path}.{key}" if path else key, value, "an object")
    return None


def list_at(parent: JsonObject, key: str, path: str, report: Report) -> list[Any]:
    """Return the list under a key, an empty one where it is absent; another type is reported."""
    value = parent.get(key)
    if value is None:
        return []
    if isinstance(value, list):
        return value
    report.wrong_type(f"{path}.{key}", value, "a list")
    return []
