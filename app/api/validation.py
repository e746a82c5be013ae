"""Says whether an EtcdCluster may be stored, and everything that is wrong with it at once.

An object that is being deleted passes whatever it says, or its finalizers could never come off. An update is
not denied for what it does not change: whatever the stored object has wrong already, by whichever rules it
was let in, may stay as it is.
"""

from typing import Any

from app.api import unbuilt
from app.api.base import JsonObject
from app.api.defaults import DEFAULT_REPOSITORY
from app.api.rules.image import check_repository, check_version, check_version_change
from app.api.rules.metadata import check_name
from app.api.rules.pod import check_pod
from app.api.rules.size import check_size
from app.api.rules.storage import check_domain_change, check_storage_change
from app.api.rules.tls import check_tls, check_tls_change
from app.api.verdict import ALLOWED, Report, Verdict

_NO_OBJECT = Report()
_NO_OBJECT.wrong_type("", None, "an object")


def validate(new: Any, old: Any = None) -> Verdict:
    """Check an EtcdCluster; ``old`` is the stored object of an update."""
    if not isinstance(new, dict):
        return _NO_OBJECT.verdict()
    stored = old if isinstance(old, dict) else None
    if _is_deleted(new if stored is None else stored):
        return ALLOWED
    if stored is not None and new.get("spec") == stored.get("spec"):
        return ALLOWED
    report = examine(new)
    unbuilt.check_fields(new, report)
    if stored is not None:
        before = examine(stored)
        unbuilt.check_fields(stored, before)
        report.forgive(before)
        compare(new, stored, report)
        unbuilt.check_changes(new, stored, {"spec.repository": DEFAULT_REPOSITORY}, report)
    return report.verdict()


def _is_deleted(obj: JsonObject) -> bool:
    metadata = obj.get("metadata")
    return isinstance(metadata, dict) and metadata.get("deletionTimestamp") is not None


def examine(obj: JsonObject) -> Report:
    """Check an EtcdCluster by itself."""
    report = Report()
    check_name(obj, report)
    spec = _spec(obj)
    if spec is None:
        if obj.get("spec") is not None:
            report.wrong_type("spec", obj["spec"], "an object")
        return report
    check_size(spec.get("size"), report)
    check_repository(spec.get("repository"), report)
    check_version(spec.get("version"), report)
    if spec.get("paused") is not None and not isinstance(spec["paused"], bool):
        report.wrong_type("spec.paused", spec["paused"], "true or false")
    check_pod(spec, report)
    check_tls(spec, report)
    return report


def compare(new: JsonObject, old: JsonObject, report: Report) -> None:
    """Check what an update of an EtcdCluster changes."""
    after, before = _spec(new) or {}, _spec(old) or {}
    check_version_change(new, old, report)
    pods = (_pod(after), _pod(before))
    check_storage_change(*pods, report)
    check_domain_change(*pods, report)
    check_tls_change(after, before, report)


def _spec(obj: JsonObject) -> JsonObject | None:
    spec = obj.get("spec")
    return spec if isinstance(spec, dict) else None


def _pod(spec: JsonObject) -> JsonObject:
    pod = spec.get("pod")
    return pod if isinstance(pod, dict) else {}
