"""Compute resources of the etcd container."""

from typing import Any

from app.api.base import JsonObject
from app.api.paths import object_at
from app.api.quantities import parse_quantity
from app.api.verdict import Report

PATH = "spec.pod.resources"

_NATIVE = ("cpu", "memory", "ephemeral-storage")
_PAGES = "hugepages-"


def check_resources(pod: JsonObject, report: Report) -> None:
    """Check ``spec.pod.resources``."""
    resources = object_at(pod, "resources", "spec.pod", report)
    if not resources:
        return
    if resources.get("claims"):
        message = "the Pod has no resource claims that they could name; leave it out"
        report.forbidden(f"{PATH}.claims", resources["claims"], message)
    limits = object_at(resources, "limits", PATH, report) or {}
    requests = object_at(resources, "requests", PATH, report) or {}
    for key, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            _check_amount(key, name, amount, report)
    for name, amount in requests.items():
        requested, limit = parse_quantity(amount), parse_quantity(limits.get(name))
        if requested is not None and limit is not None and requested > limit:
            message = f"must not be greater than the limit {limits[name]}"
            report.invalid(f"{PATH}.requests[{name}]", amount, message, nearest=limits[name])


def _check_amount(key: str, name: str, amount: Any, report: Report) -> None:
    known = name in _NATIVE or name.startswith(_PAGES) or "/" in name
    size = parse_quantity(amount)
    if known and size is not None and size >= 0:
        return
    path = f"{PATH}.{key}[{name}]"
    if not known:
        report.unsupported(path, name, (*_NATIVE, f"{_PAGES}<size>", "<domain>/<name>"))
    if size is None:
        report.invalid(path, amount, "must be a quantity, e.g. 500m or 1Gi")
    elif size < 0:
        report.invalid(path, amount, "must not be negative", nearest=0)
