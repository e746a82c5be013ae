"""What this version of the operator cannot do yet: one table, which shrinks as features arrive.

A structural schema drops a field that it does not know before any webhook sees it, and the user would believe
that it was heard. So a field that is designed but not built is in the CRD (by the placeholder here, unless
the model has it already), and is denied with words. The same holds for changes that nothing carries out yet
and for kinds that nobody reconciles yet: never accepted and ignored.
"""

from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any

from app.api.base import JsonObject
from app.api.paths import lookup
from app.api.verdict import Report

_OBJECT: JsonObject = {"type": "object"}
_OBJECTS: JsonObject = {
    "type": "array",
    "items": {"type": "object"},
    "maxItems": 64,
    "x-kubernetes-list-type": "atomic",
}
_STRING: JsonObject = {"type": "string", "maxLength": 1024}
_BOOLEAN: JsonObject = {"type": "boolean"}
_INTEGER: JsonObject = {"type": "integer", "format": "int64"}


@dataclass(frozen=True, slots=True)
class UnbuiltField:
    """A field that no part of the operator honours yet."""

    path: str
    placeholder: JsonObject | None = attribute(default=None, hash=False)
    """Its schema in the CRD; ``None`` where the model has the field."""


FIELDS = (
    UnbuiltField("spec.TLS"),
    UnbuiltField("spec.TLS.operatorManaged", _OBJECT),
    UnbuiltField("spec.TLS.certManager", _OBJECT),
    UnbuiltField("spec.image", _STRING),
    UnbuiltField("spec.service", _OBJECT),
    UnbuiltField("spec.podDisruptionBudget", _BOOLEAN),
    UnbuiltField("spec.dataRetention", _STRING),
    UnbuiltField("spec.etcd", _OBJECT),
    UnbuiltField("spec.restartedAt", _STRING),
    UnbuiltField("spec.maintenance", _OBJECT),
    UnbuiltField("spec.recovery", _OBJECT),
    UnbuiltField("spec.auth", _OBJECT),
    UnbuiltField("spec.pod.topologySpreadConstraints", _OBJECTS),
    UnbuiltField("spec.pod.priorityClassName", _STRING),
    UnbuiltField("spec.pod.imagePullSecrets", _OBJECTS),
    UnbuiltField("spec.pod.imagePullPolicy", _STRING),
    UnbuiltField("spec.pod.serviceAccountName", _STRING),
    UnbuiltField("spec.pod.terminationGracePeriodSeconds", _INTEGER),
    UnbuiltField("spec.pod.containerSecurityContext", _OBJECT),
    UnbuiltField("spec.pod.tmpfs", _BOOLEAN),
    UnbuiltField("spec.pod.runtimeClassName", _STRING),
    UnbuiltField("spec.pod.schedulerName", _STRING),
)
"""Fields of an EtcdCluster that are denied wherever they are given."""

_NAMES_BY_PARENT: dict[str, frozenset[str]] = {
    parent: frozenset(
        field.path.rpartition(".")[2] for field in FIELDS if field.path.rpartition(".")[0] == parent
    )
    for parent in dict.fromkeys(field.path.rpartition(".")[0] for field in FIELDS)
}

CHANGES = ("spec.size", "spec.version", "spec.repository", "spec.pod", "spec.TLS")
"""Fields of an EtcdCluster whose value cannot be changed yet."""

KINDS = frozenset({"EtcdBackup", "EtcdRestore"})
"""Kinds that nothing reconciles yet."""

NOT_AVAILABLE = "is not available in this version of the operator"


def kind_denial(kind: str) -> str:
    """Return the words with which a kind is denied that nothing reconciles yet."""
    return f"{kind} {NOT_AVAILABLE}; the object would have no effect"


def check_fields(new: JsonObject, report: Report) -> None:
    """Deny what an EtcdCluster asks for and would not get."""
    for parent, names in _NAMES_BY_PARENT.items():
        node = lookup(new, parent)
        for name in names & node.keys() if isinstance(node, dict) else ():
            if node[name] is not None:
                report.forbidden(f"{parent}.{name}", node[name], f"{NOT_AVAILABLE}; leave it out")


def check_changes(new: JsonObject, old: JsonObject, defaults: dict[str, Any], report: Report) -> None:
    """Deny changes of an EtcdCluster that would not be carried out; absent means ``defaults[path]``."""
    for path in CHANGES:
        before, after = (_effective(lookup(obj, path), defaults.get(path)) for obj in (old, new))
        if before != after:
            nearest = None if isinstance(before, dict) else before
            report.forbidden(path, after, f"changing it {NOT_AVAILABLE}; keep what it was", nearest=nearest)


def _effective(value: Any, default: Any) -> Any:
    return default if value is None or value == {} else value
