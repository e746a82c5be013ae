"""Where a member's data lives.

A claim, its class and its access modes cannot be changed by Kubernetes once it exists, and a volume only
grows. A claim that several Pods can write is refused: two etcd processes on one data folder destroy it. So is
a claim that starts with somebody else's data (``dataSource``) or that names one volume for all members.
"""

from typing import Any

from app.api.base import JsonObject
from app.api.paths import lookup, object_at
from app.api.quantities import parse_quantity
from app.api.verdict import Report

PATH = "spec.pod.persistentVolumeClaimSpec"
STORAGE = f"{PATH}.resources.requests"

KIND_IS_FIXED = "cannot be switched on or off on a cluster that exists: its data would not move"
DOMAIN_IS_FIXED = "cannot be changed: members know each other by these host names"
NEVER_SHRINKS = "must not shrink, Kubernetes cannot shrink a volume"
CLASS_IS_FIXED = "cannot be changed, Kubernetes cannot move a volume to another class"
MODES_ARE_FIXED = "cannot be changed, Kubernetes cannot change them on a claim"

_MODES = ("ReadWriteOncePod", "ReadWriteOnce")
_RETENTIONS = ("Delete", "Retain")
_REFUSED = {
    "volumeName": "one volume cannot serve several members",
    "dataSource": "a member must start on an empty volume",
    "dataSourceRef": "a member must start on an empty volume",
}


def check_storage(pod: JsonObject, report: Report) -> None:
    """Check ``spec.pod.persistentVolumeClaimSpec``."""
    if pod.get("persistentVolumeClaimSpec") is None:
        where = "memory" if pod.get("tmpfs") is True else "an emptyDir"
        report.warn(f"spec.pod.persistentVolumeClaimSpec: not set, data is in {where} and lost with the Pod")
        return
    claim = object_at(pod, "persistentVolumeClaimSpec", "spec.pod", report)
    if claim is None:
        return
    _check_modes(claim.get("accessModes"), report)
    _check_size(claim, report)
    if claim.get("volumeMode") not in (None, "Filesystem"):
        report.unsupported(f"{PATH}.volumeMode", claim["volumeMode"], ("Filesystem",), nearest="Filesystem")
    for key, why in _REFUSED.items():
        if claim.get(key):
            report.forbidden(f"{PATH}.{key}", claim[key], f"{why}; leave it out")


def _check_modes(modes: Any, report: Report) -> None:
    path = f"{PATH}.accessModes"
    if modes is None:
        return  # the operator asks for ReadWriteOncePod
    if not isinstance(modes, list):
        report.wrong_type(path, modes, "a list of access modes")
    elif not modes:
        report.required(path, "an empty list asks for no access at all", nearest=["ReadWriteOncePod"])
    else:
        for position, mode in enumerate(modes):
            if mode not in _MODES:
                report.unsupported(f"{path}[{position}]", mode, _MODES, nearest="ReadWriteOnce")


def _check_size(claim: JsonObject, report: Report) -> None:
    resources = object_at(claim, "resources", PATH, report) or {}
    requests = object_at(resources, "requests", f"{PATH}.resources", report) or {}
    requested = requests.get("storage")
    path = f"{STORAGE}[storage]"
    if requested is None:
        report.required(path, "a claim needs a size", nearest="8Gi")
        return
    size = parse_quantity(requested)
    if size is None or size <= 0:
        report.invalid(path, requested, "must be a quantity greater than 0", nearest="8Gi")
        return
    limits = object_at(resources, "limits", f"{PATH}.resources", report) or {}
    limit = parse_quantity(limits.get("storage"))
    if limit is not None and size > limit:
        message = f"must not be greater than the limit {limits['storage']}"
        report.invalid(path, requested, message, nearest=limits["storage"])


def check_retention(retention: Any, pod: JsonObject, report: Report) -> None:
    """Check ``spec.dataRetention``."""
    if retention is None:
        return
    if retention not in _RETENTIONS:
        report.unsupported("spec.dataRetention", retention, _RETENTIONS, nearest="Delete")
    elif retention == "Retain" and pod.get("persistentVolumeClaimSpec") is None:
        report.warn("spec.dataRetention: has no effect, data that is not on claims goes with the Pods")


def check_storage_change(new: JsonObject, old: JsonObject, report: Report) -> None:
    """Compare two versions of ``spec.pod``: what a volume cannot follow is denied."""
    after, before = new.get("persistentVolumeClaimSpec"), old.get("persistentVolumeClaimSpec")
    if (after is None) != (before is None):
        hint = "leave it out" if before is None else "keep what it was"
        report.forbidden(PATH, after, f"{KIND_IS_FIXED}; {hint}")
    if not isinstance(after, dict) or not isinstance(before, dict):
        return
    _check_kept("storageClassName", after, before, CLASS_IS_FIXED, report)
    _check_kept("accessModes", after, before, MODES_ARE_FIXED, report)
    was, now = (lookup(claim, "resources.requests.storage") for claim in (before, after))
    least, size = parse_quantity(was), parse_quantity(now)
    if least is not None and (size is None or size < least):
        report.forbidden(f"{STORAGE}[storage]", now, NEVER_SHRINKS, nearest=was)


def _check_kept(key: str, after: JsonObject, before: JsonObject, words: str, report: Report) -> None:
    value, kept = after.get(key), before.get(key)
    if value != kept:
        hint = "; leave it out" if kept is None else ""
        report.forbidden(f"{PATH}.{key}", value, f"{words}{hint}", nearest=kept)


def check_domain_change(new: JsonObject, old: JsonObject, report: Report) -> None:
    """Compare two versions of ``spec.pod``: host names of members do not change."""
    after, before = new.get("ClusterDomain") or "", old.get("ClusterDomain") or ""
    if after != before:
        hint = "" if before else "; leave it out"
        report.forbidden("spec.pod.ClusterDomain", after, f"{DOMAIN_IS_FIXED}{hint}", nearest=before or None)
