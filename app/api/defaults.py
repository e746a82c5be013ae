"""Fills in what a user left out.

Only what is absent or ``null`` is filled. An explicit ``0``, ``false``, ``""``, ``{}`` or ``[]`` is the
user's word, and whether it is a good one is for validation to say. Spellings and unknown keys stay as they
are, whatever their JSON type: the object is never read into a model and written back. A second call fills
nothing.

On create every default is written, so that a later version of the operator with other defaults changes no
cluster that exists. On update an absent size or version takes what the stored object has, and where that has
none it stays absent: in a running cluster it means what the status says.
"""

from typing import Any

from app.api.base import JsonObject
from app.api.cluster import REPLACE_AFTER_SECONDS
from app.api.versions import DEFAULT as DEFAULT_VERSION

DEFAULT_SIZE = 3
DEFAULT_REPOSITORY = "quay.io/coreos/etcd"

CREATED: JsonObject = {
    "size": DEFAULT_SIZE,
    "repository": DEFAULT_REPOSITORY,
    "version": DEFAULT_VERSION,
    "paused": False,
    "podDisruptionBudget": True,
    "dataRetention": "Delete",
    "recovery": {"memberReplaceAfterSeconds": REPLACE_AFTER_SECONDS, "quorumLoss": "Manual"},
}
"""What a new EtcdCluster's spec gets where it says nothing."""

KEPT = ("size", "version")
"""What an updated EtcdCluster's spec takes from the stored one where it says nothing."""


def default(obj: Any, old: Any = None) -> Any:
    """Return an EtcdCluster with its defaults; ``old`` is the stored object of an update.

    The input is not changed. The same object comes back when there is nothing to fill.
    """
    if not isinstance(obj, dict):
        return obj
    spec = obj.get("spec")
    if spec is None:
        spec = {}
    elif not isinstance(spec, dict):
        return obj
    wanted = CREATED if old is None else _stored(old)
    filled = _filled(spec, wanted)
    return obj if filled is obj.get("spec") else {**obj, "spec": filled}


def _filled(given: JsonObject, wanted: JsonObject) -> JsonObject:
    """Fill what is absent, in objects within too; the same object comes back when nothing is."""
    missing: JsonObject = {}
    for key, value in wanted.items():
        have = given.get(key)
        if have is None:
            missing[key] = value
        elif have and isinstance(have, dict) and isinstance(value, dict):
            inner = _filled(have, value)
            if inner is not have:
                missing[key] = inner
    return {**given, **missing} if missing else given


def _stored(old: Any) -> JsonObject:
    spec = old.get("spec") if isinstance(old, dict) else None
    if not isinstance(spec, dict):
        return {}
    return {key: spec[key] for key in KEPT if spec.get(key) is not None}
