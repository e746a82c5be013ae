"""Which rules an object goes by: one entry for each kind, so that callers treat all kinds alike."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from app.api.defaults import default
from app.api.scale import validate_scale
from app.api.validation import validate, validate_backup, validate_restore
from app.api.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one kind; both functions take the object and, on an update, the stored one."""

    kind: str
    plural: str
    default: Callable[[Any, Any], Any]
    validate: Callable[[Any, Any], Verdict]


def _nothing(obj: Any, old: Any = None) -> Any:  # noqa: ARG001 - the signature of every default
    return obj


_ALL = (
    Rules("EtcdCluster", "etcdclusters", default, validate),
    Rules("EtcdBackup", "etcdbackups", _nothing, validate_backup),
    Rules("EtcdRestore", "etcdrestores", _nothing, validate_restore),
)
_BY_KIND = {rules.kind: rules for rules in _ALL}


SCALE = Rules("Scale", "etcdclusters/scale", _nothing, validate_scale)
"""The rules of what ``kubectl scale`` and autoscalers write."""


def beside(rules: Rules, neighbours: Mapping[str, str]) -> Rules:
    """Return the rules of an EtcdCluster beside others, whose client Services are given by their names."""
    return replace(rules, validate=partial(validate, neighbours=neighbours))


def rules_for(kind: str) -> Rules | None:
    """Return the rules of a kind, ``None`` for a kind that is not ours."""
    return _BY_KIND.get(kind)
