"""What this version of the operator cannot do yet: one table, which shrinks as features arrive.

A structural schema drops a field that it does not know before any webhook sees it, and the user would believe
that it was heard. So a field that is designed but not built is in the CRD (by the placeholder here, unless
the model has it already), and is denied with words. The same holds for changes that nothing carries out yet
and for kinds that nobody reconciles yet: never accepted and ignored.
"""

from dataclasses import dataclass, field
from typing import Any

from app.api.base import JsonObject
from app.api.paths import lookup
from app.api.verdict import Report
from app.api.versions import bare

_OBJECT: JsonObject = {"type": "object"}
_STRING: JsonObject = {"type": "string", "maxLength": 1024}


@dataclass(frozen=True, slots=True)
class UnbuiltField:
    """A field that no part of the operator honours yet."""

    path: str
    placeholder: JsonObject | None = field(default=None, hash=False)
    """Its schema in the CRD; ``None`` where the model has the field."""

    @property
    def parent(self) -> str:
        """The path of the object that the field is in."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The field's own name."""
        return self.path.rpartition(".")[2]


FIELDS = (
    UnbuiltField("spec.TLS"),
    UnbuiltField("spec.TLS.operatorManaged", _OBJECT),
    UnbuiltField("spec.TLS.certManager", _OBJECT),
    UnbuiltField("spec.etcd", _OBJECT),
    UnbuiltField("spec.restartedAt", _STRING),
    UnbuiltField("spec.maintenance", _OBJECT),
    UnbuiltField("spec.recovery.backupRef", _OBJECT),
    UnbuiltField("spec.auth", _OBJECT),
)
"""Fields of an EtcdCluster that are denied wherever they are given."""

VALUES = (("spec.recovery.quorumLoss", "Restore", "Manual"),)
"""Values of fields that are heard otherwise, each with the nearest one that is."""

_NAMES = {
    parent: frozenset(f.name for f in FIELDS if f.parent == parent)
    for parent in dict.fromkeys(f.parent for f in FIELDS)
}

CHANGES = ("spec.version", "spec.repository", "spec.image", "spec.pod", "spec.TLS")
"""Fields of an EtcdCluster whose value cannot be changed yet."""

KINDS = frozenset({"EtcdBackup", "EtcdRestore"})
"""Kinds that nothing reconciles yet."""

NOT_AVAILABLE = "is not available in this version of the operator"


def kind_denial(kind: str) -> str:
    """Return the words with which a kind is denied that nothing reconciles yet."""
    return f"{kind} {NOT_AVAILABLE}; the object would have no effect"


def check_fields(new: JsonObject, report: Report) -> None:
    """Deny what an EtcdCluster asks for and would not get."""
    for parent, names in _NAMES.items():
        node = lookup(new, parent)
        if not isinstance(node, dict) or names.isdisjoint(node):
            continue
        for name in sorted(names & node.keys()):
            if node[name] is not None:
                report.forbidden(f"{parent}.{name}", node[name], f"{NOT_AVAILABLE}; leave it out")
    for path, value, nearest in VALUES:
        if lookup(new, path) == value:
            report.forbidden(path, value, f"{value} {NOT_AVAILABLE}", nearest=nearest)


def check_changes(new: JsonObject, old: JsonObject, defaults: dict[str, Any], report: Report) -> None:
    """Deny changes of an EtcdCluster that would not be carried out; absent means ``defaults[path]``."""
    for path in CHANGES:
        if _meaning(new, path, defaults) != _meaning(old, path, defaults):
            value, stored = lookup(new, path), lookup(old, path)
            nearest = None if isinstance(stored, dict) else stored
            report.forbidden(path, value, f"changing it {NOT_AVAILABLE}; keep what it was", nearest=nearest)


def _meaning(obj: JsonObject, path: str, defaults: dict[str, Any]) -> Any:
    """Return what a field says: empty is absent, and a leading "v" of a version says nothing."""
    value = lookup(obj, path)
    if path == "spec.pod":
        value = _without_size(value)
    if value is None or value == {}:
        return defaults.get(path)
    return bare(value) if path == "spec.version" and isinstance(value, str) else value


def _without_size(pod: Any) -> Any:
    """Return a Pod policy without the size of the claims, which may grow."""
    claim = lookup(pod, "persistentVolumeClaimSpec")
    requests = lookup(claim, "resources.requests")
    if claim is None or not isinstance(requests, dict):
        return pod
    rest = {key: value for key, value in requests.items() if key != "storage"}
    resized = {**claim, "resources": {**claim["resources"], "requests": rest}}
    return {**pod, "persistentVolumeClaimSpec": resized}
