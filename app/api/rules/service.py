"""The Service for clients: what it is called, which kind it is, and what it carries.

Two clusters of a namespace may not claim one name. Cluster ``a`` has a Service ``a-client`` unless told
otherwise, and so has a cluster ``a-client``, for its members.
"""

from collections.abc import Mapping
from typing import Any

from app.api import names
from app.api.base import JsonObject
from app.api.paths import lookup, object_at
from app.api.rules.metadata import check_label_key, check_label_value, is_reserved
from app.api.verdict import Report

PATH = "spec.service"
NAME = f"{PATH}.name"

_TYPES = ("ClusterIP", "NodePort", "LoadBalancer")


def check_service(obj: JsonObject, spec: JsonObject, report: Report) -> None:
    """Check ``spec.service``."""
    service = object_at(spec, "service", "spec", report)
    if not service:
        return
    kind = service.get("type")
    if kind is not None and kind not in _TYPES:
        report.unsupported(f"{PATH}.type", kind, _TYPES, nearest="ClusterIP")
    _check_name(lookup(obj, "metadata.name"), service.get("name"), report)
    for key, value in (object_at(service, "annotations", PATH, report) or {}).items():
        path = f"{PATH}.annotations[{key}]"
        if is_reserved(key):
            report.forbidden(path, value, "the operator's own annotation; leave it out")
        check_label_key(path, key.lower(), report)
        if not isinstance(value, str):
            report.wrong_type(path, value, "a string in quotes")
    for part in ("labels", "selector"):
        _check_labels(part, object_at(service, part, PATH, report) or {}, report)
    selector, worn = service.get("selector"), lookup(spec, "pod.labels")
    for key, value in selector.items() if isinstance(selector, dict) else ():
        if not isinstance(worn, dict) or worn.get(key) != value:
            report.warn(f"{PATH}.selector[{key}]: not among spec.pod.labels, so no member may be selected")


def _check_name(cluster: Any, name: Any, report: Report) -> None:
    if name is None:
        return
    if not isinstance(name, str):
        report.wrong_type(NAME, name, "the name of a Service")
    elif not names.is_label(name):
        words = "must be a DNS-1035 label: lower-case letters, digits and '-', a letter first and no '-' last"
        report.invalid(NAME, name, words, nearest=names.nearest_cluster_name(name))
    elif name == cluster:
        report.invalid(
            NAME, name, "is the members' own Service", nearest=names.client_service(name)[:63].rstrip("-")
        )


def _check_labels(part: str, labels: JsonObject, report: Report) -> None:
    for key, value in labels.items():
        path = f"{PATH}.{part}[{key}]"
        if is_reserved(key):
            report.forbidden(path, value, "the operator's own label; leave it out")
        else:
            check_label_key(path, key, report)
            check_label_value(path, value, report)


def client_service(name: str, spec: Any) -> str:
    """Return the name of the Service for clients that a cluster of this name and spec has."""
    given = lookup(spec, "service.name")
    return given if isinstance(given, str) and given else names.client_service(name)


def claims_another(new: Any, old: Any) -> bool:
    """Whether an object claims a Service that the stored one does not, so that neighbours matter."""
    return old is None or lookup(new, NAME) != lookup(old, NAME)


def check_neighbours(obj: JsonObject, neighbours: Mapping[str, str], report: Report) -> None:
    """Refuse a second claim to a Service's name; ``neighbours`` are client Services by cluster."""
    name = lookup(obj, "metadata.name") if neighbours else None
    if not isinstance(name, str):
        return
    own = client_service(name, obj.get("spec"))
    for other, theirs in neighbours.items():
        if other == name:
            continue
        taken = next((one for one in (own, name) if one in {other, theirs}), None)
        if taken is not None:
            given = taken == own != names.client_service(name)
            message = f"both this cluster and {other} would have a Service {taken}"
            report.invalid(NAME if given else "metadata.name", taken if given else name, message)
