"""JSON patches (RFC 6902) that lead from one document to another by adding only.

Defaulting never takes anything away, so the operations are ``add`` for what was absent and ``replace`` for
what was null. The comparison stops at the first difference on a path: a missing parent is added whole, with
all that is below it. What is equal gives no operation, so quantities keep the spelling their author chose.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

Operation: TypeAlias = dict[str, Any]
Object: TypeAlias = dict[str, Any]


class NotAdditiveError(ValueError):
    """The second document lacks something of the first, or changes it: the path that does is the text."""


def additions(before: Object, after: Object) -> list[Operation]:
    """The operations that turn `before` into `after`; raises `NotAdditiveError` if adding alone can't."""
    return list(_object(before, after, ""))


def _object(before: Object, after: Object, path: str) -> Iterator[Operation]:
    for key in before:
        if key not in after:
            raise NotAdditiveError(f"{path}/{escape(key)}")
    for key, value in after.items():
        if key not in before:
            yield {"op": "add", "path": f"{path}/{escape(key)}", "value": value}
        elif before[key] is not value:
            yield from _value(before[key], value, f"{path}/{escape(key)}")


def _value(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if before is None:
        if after is not None:
            yield {"op": "replace", "path": path, "value": after}
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from _object(before, after, path)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            if old is not new:
                yield from _value(old, new, f"{path}/{index}")
    elif type(before) is not type(after) or before != after:
        raise NotAdditiveError(path)


def escape(key: str) -> str:
    """A key as a JSON pointer writes it (RFC 6901): ``~`` and ``/`` have other meanings there."""
    return key.replace("~", "~0").replace("/", "~1")
