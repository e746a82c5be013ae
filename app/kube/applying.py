"""Server-side apply of the operator's own objects, without needless writes and never on others' objects.

An apply that changes nothing still costs the API server an admission and a look into etcd, and a settled
system should be silent. A hash of what was last applied would not see what somebody edited since, so the
comparison is with the object as it is: when it has every field of the body, there is nothing to do. A field
that the body no longer has is noticed by a digest of the body, kept in an annotation.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from app.kube.api import DEADLINE_SECONDS, FIELD_MANAGER, Api
from app.kube.errors import KubeError
from app.kube.objects import Object
from app.kube.resources import Resource

T = TypeVar("T", bound=Object)

_MERGE_KEYS = ("uid", "name")
"""By what the lists of objects that the operator applies are merged: owners, and ports."""


class NotOurs(KubeError):  # noqa: N818 -- named as its siblings are
    """An object of that name exists and belongs to somebody else."""


def contains(live: object, wanted: object) -> bool:
    """Tell whether ``live`` has every field of ``wanted``, with the same value.

    A list whose items have a name or a uid may have more items than wanted: an apply leaves those of others
    alone. Any other list has to be equal, item by item. What is wanted as null must be absent; and what is
    wanted as false, 0 or empty may be, since the API server leaves such fields out.
    """
    if live is None:
        return not wanted
    match wanted:
        case Mapping():
            return isinstance(live, Mapping) and all(
                contains(live.get(key), value) for key, value in wanted.items()
            )
        case Sequence() if not isinstance(wanted, str):
            return isinstance(live, list | tuple) and _contains_list(live, wanted)
        case _:
            # True == 1 in Python, not in JSON.
            return live == wanted and isinstance(live, bool) is isinstance(wanted, bool)


def _contains_list(live: Sequence[Any], wanted: Sequence[Any]) -> bool:
    key = _merge_key(wanted)
    if key is None:
        return len(live) == len(wanted) and all(map(contains, live, wanted))
    by_key = {item.get(key): item for item in live if isinstance(item, Mapping)}
    return all(contains(by_key.get(item[key]), item) for item in wanted)


def _merge_key(items: Sequence[Any]) -> str | None:
    for key in _MERGE_KEYS:
        if items and all(isinstance(item, Mapping) and key in item for item in items):
            return key
    return None


def digest(body: Mapping[str, Any]) -> str:
    """Return a short text that differs for any two bodies, whatever the order of their keys."""
    return hashlib.sha256(msgspec.json.encode(body, order="deterministic")).hexdigest()[:16]


async def apply(
    api: Api,
    resource: Resource[T],
    body: Mapping[str, Any],
    *,
    live: T | None,
    owner_uid: str,
    marker: str,
    deadline: float = DEADLINE_SECONDS,
) -> T | None:
    """Apply ``body``; None when there was nothing to do.

    ``live`` is the object as it is, from a cache or read just now, None where there is none. The annotation
    ``marker`` gets the body's digest. Raises ``NotOurs`` where ``live`` isn't controlled by the object with
    ``owner_uid``; ``Conflict`` or ``Invalid`` where another object has the name by now, or one exists
    after all.
    """
    meta = dict(body["metadata"])
    meta["annotations"] = {**meta.get("annotations", {}), marker: digest(body)}
    body = {**body, "metadata": meta}
    if live is None:
        # Not forced: where a cache didn't know yet of somebody's object, his fields make a conflict.
        return await api.apply(resource, body, field_manager=FIELD_MANAGER, force=False, deadline=deadline)
    controller = live.metadata.controller
    if controller is None or controller.uid != owner_uid:
        whose = f"{controller.kind} {controller.name}" if controller else "nobody"
        raise NotOurs(f"{resource.kind} {live.metadata.key} exists and is controlled by {whose}")
    unnamed = {key: value for key, value in body.items() if key not in {"apiVersion", "kind"}}
    if contains(msgspec.to_builtins(live), unnamed):
        return None
    # With the uid in it the body can't reach another object that has the name by now.
    meta["uid"] = live.metadata.uid
    return await api.apply(resource, body, field_manager=FIELD_MANAGER, deadline=deadline)
