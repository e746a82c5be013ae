"""Which spec to go by.

The reconcile runs the webhook's own defaults and rules once more, so that a webhook that was switched off
can't feed a bad spec in. The last spec that was accepted is kept in the journal; while the one in the custom
resource breaks the rules, what runs is healed by that one, and the status says ``SpecInvalid``.
"""

import json
from dataclasses import dataclass
from typing import Any

from app.api import versions
from app.api.base import JsonObject
from app.api.cluster import ClusterSpec
from app.api.defaults import DEFAULT_REPOSITORY, DEFAULT_SIZE, default
from app.api.status import ClusterStatus
from app.api.validation import validate


@dataclass(frozen=True, slots=True)
class Accepted:
    """The spec to go by.

    Typed, and as the JSON to remember. ``invalid`` says what is wrong with the other.
    """

    spec: ClusterSpec
    text: str
    invalid: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no spec to go by; ``words`` say what is wrong with the only one."""

    words: str


def accept(metadata: JsonObject, spec: JsonObject, status: ClusterStatus) -> Accepted | Refused:
    """Choose between the spec of the custom resource and the last accepted one.

    Neither can be gone by only in a new cluster whose spec breaks the rules.
    """
    before = _remembered(status)
    faults = _complaint(metadata, spec, before)
    if not faults:
        full = _complete(spec, status)
        return Accepted(ClusterSpec.model_validate(full), _compact(full))
    if before is None:
        return Refused(faults)
    # Pausing is obeyed whatever else is wrong: it is how a person stops the operator.
    merged = (
        {**before, "paused": spec.get("paused", False)} if isinstance(spec.get("paused"), bool) else before
    )
    return Accepted(ClusterSpec.model_validate(merged), status.journal.accepted_spec, faults)


def _complaint(metadata: JsonObject, spec: JsonObject, before: JsonObject | None) -> str:
    """Say what is wrong with a spec, in one line; empty for nothing."""
    new: JsonObject = {"metadata": metadata, "spec": spec}
    old: JsonObject | None = None
    if before is not None:
        old = {"metadata": metadata, "spec": before}
        new = default(new, old)
    verdict = validate(new, old)
    return "; ".join(f"{fault.path}: {fault.message}" for fault in verdict.faults)


def _remembered(status: ClusterStatus) -> JsonObject | None:
    try:
        spec = json.loads(status.journal.accepted_spec or "null")
    except ValueError:
        return None  # somebody edited it; the spec in the custom resource is all there is
    return spec if isinstance(spec, dict) else None


def _complete(spec: JsonObject, status: ClusterStatus) -> JsonObject:
    """Fill what is absent: in a cluster that exists it means what the status says, else the default."""
    record = status.journal.bootstrap
    fallback: dict[str, Any] = {
        "size": len(record.members) if record else DEFAULT_SIZE,
        "repository": DEFAULT_REPOSITORY,
        "version": status.current_version or versions.DEFAULT,
    }
    return {**fallback, **{key: value for key, value in spec.items() if value is not None}}


def _compact(spec: JsonObject) -> str:
    return json.dumps(spec, sort_keys=True, separators=(",", ":"))
