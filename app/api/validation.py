"""Says whether an object may be stored, and everything that is wrong with it at once.

An object that is being deleted passes whatever it says, or its finalizers could never come off. An update is
not denied for what it does not change: whatever the stored object has wrong already, by whichever rules it
was let in, may stay as it is.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from app.api import unbuilt
from app.api.base import JsonObject
from app.api.defaults import DEFAULT_REPOSITORY
from app.api.paths import object_at
from app.api.rules.backup import examine_backup, examine_restore
from app.api.rules.image import check_image, check_repository, check_version, check_version_change
from app.api.rules.metadata import check_name
from app.api.rules.pod import check_pod
from app.api.rules.recovery import check_recovery
from app.api.rules.service import check_neighbours, check_service, claims_another
from app.api.rules.size import check_size
from app.api.rules.storage import check_domain_change, check_storage_change
from app.api.rules.tls import check_tls, check_tls_change
from app.api.verdict import ALLOWED, Report, Verdict

_NOBODY: Mapping[str, str] = MappingProxyType({})
_EFFECTIVE = {"spec.repository": DEFAULT_REPOSITORY}
"""What absent means where a change is looked for."""


def validate(new: Any, old: Any = None, *, neighbours: Mapping[str, str] = _NOBODY) -> Verdict:
    """Check an EtcdCluster; ``old`` is the stored object of an update.

    ``neighbours`` are the client Services of the namespace's other EtcdClusters by the names of these, as
    far as they are known.
    """
    stored = old if isinstance(old, dict) else None
    passed = _passes(new, stored)
    if passed is not None:
        return passed
    report = _examine_asked(new)
    if claims_another(new, stored):
        check_neighbours(new, neighbours, report)
    if stored is not None:
        if report.found:
            report.forgive(_examine_asked(stored))
        compare(new, stored, report)
        unbuilt.check_changes(new, stored, _EFFECTIVE, report)
    return report.verdict()


def validate_backup(new: Any, old: Any = None) -> Verdict:
    """Check an EtcdBackup; ``old`` is the stored object of an update."""
    return _validate_unbuilt(new, old, "EtcdBackup", examine_backup)


def validate_restore(new: Any, old: Any = None) -> Verdict:
    """Check an EtcdRestore; ``old`` is the stored object of an update."""
    return _validate_unbuilt(new, old, "EtcdRestore", examine_restore)


def _validate_unbuilt(new: Any, old: Any, kind: str, examine_kind: Callable[[JsonObject], Report]) -> Verdict:
    stored = old if isinstance(old, dict) else None
    passed = _passes(new, stored)
    if passed is not None:
        return passed
    report = examine_kind(new)
    if stored is not None:
        if report.found:
            report.forgive(examine_kind(stored))
    elif kind in unbuilt.KINDS:
        report.forbidden("spec", new.get("spec"), unbuilt.kind_denial(kind))
    return report.verdict()


def _passes(new: Any, stored: JsonObject | None) -> Verdict | None:
    """Return the verdict on what needs no rule: no object at all, a deleted one, an unchanged one."""
    if not isinstance(new, dict):
        report = Report()
        report.wrong_type("", new, "an object")
        return report.verdict()
    metadata = (new if stored is None else stored).get("metadata")
    if isinstance(metadata, dict) and metadata.get("deletionTimestamp") is not None:
        return ALLOWED
    if stored is not None and new.get("spec") == stored.get("spec"):
        return ALLOWED
    return None


def _examine_asked(obj: JsonObject) -> Report:
    report = examine(obj)
    unbuilt.check_fields(obj, report)
    return report


def examine(obj: JsonObject) -> Report:
    """Check an EtcdCluster by itself, by every rule that the design has."""
    report = Report()
    check_name(obj, report)
    spec = object_at(obj, "spec", "", report) or {}
    check_size(spec.get("size"), report)
    check_repository(spec.get("repository"), report)
    check_image(spec.get("image"), spec.get("version"), report)
    check_version(spec.get("version"), report)
    for key in ("paused", "podDisruptionBudget"):
        if not isinstance(spec.get(key), bool | None):
            report.wrong_type(f"spec.{key}", spec[key], "true or false")
    check_pod(obj, spec, report)
    check_service(obj, spec, report)
    check_recovery(spec, report)
    check_tls(spec, report)
    return report


def compare(new: JsonObject, old: JsonObject, report: Report) -> None:
    """Check what an update of an EtcdCluster changes, by every rule that the design has."""
    after, before = _object(new, "spec"), _object(old, "spec")
    check_version_change(new, old, report)
    pods = (_object(after, "pod"), _object(before, "pod"))
    check_storage_change(*pods, report)
    check_domain_change(*pods, report)
    check_tls_change(after, before, report)


def _object(parent: JsonObject, key: str) -> JsonObject:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}
