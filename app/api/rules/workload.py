"""What is handed on to the members' Pods as it is: names of other objects, and how containers come and go.

The API server would refuse a Pod for most of these, and a cluster that was let in would never get one.
"""

from typing import Any

from app.api.base import JsonObject
from app.api.names import subdomain_fault
from app.api.paths import list_at, lookup, whole_number
from app.api.verdict import Report

_NAMED = {
    "priorityClassName": "a PriorityClass",
    "runtimeClassName": "a RuntimeClass",
    "schedulerName": "a scheduler",
    "serviceAccountName": "a ServiceAccount",
}
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_GRACE = "spec.pod.terminationGracePeriodSeconds"
_SECRETS = "spec.pod.imagePullSecrets"
_TMPFS = "spec.pod.tmpfs"


def check_workload(pod: JsonObject, report: Report) -> None:
    """Check the fields of ``spec.pod`` that are the Pod's own."""
    for key, what in _NAMED.items():
        _check_name(f"spec.pod.{key}", pod.get(key), what, report)
    policy = pod.get("imagePullPolicy")
    if policy is not None and policy not in _PULL_POLICIES:
        report.unsupported("spec.pod.imagePullPolicy", policy, _PULL_POLICIES, nearest="IfNotPresent")
    _check_pull_secrets(pod, report)
    _check_grace(pod.get("terminationGracePeriodSeconds"), report)
    _check_tmpfs(pod, report)


def _check_name(path: str, name: Any, what: str, report: Report) -> None:
    if name is None:
        return
    if not isinstance(name, str):
        report.wrong_type(path, name, f"the name of {what}")
    elif fault := subdomain_fault(name):
        report.invalid(path, name, fault)


def _check_pull_secrets(pod: JsonObject, report: Report) -> None:
    seen: set[str] = set()
    for position, secret in enumerate(list_at(pod, "imagePullSecrets", "spec.pod", report)):
        path = f"{_SECRETS}[{position}]"
        if not isinstance(secret, dict):
            report.wrong_type(path, secret, "an object with name")
            continue
        name = secret.get("name")
        if name is None or name == "":
            report.required(f"{path}.name", "the credentials are in this Secret")
            continue
        _check_name(f"{path}.name", name, "a Secret", report)
        if isinstance(name, str):
            if name in seen:
                report.duplicate(f"{path}.name", name, "a Secret may be named once")
            seen.add(name)


def _check_grace(seconds: Any, report: Report) -> None:
    """Check the grace period; none at all would kill an etcd in the middle of a write."""
    if seconds is None:
        return
    number = whole_number(seconds)
    if number is None:
        report.wrong_type(_GRACE, seconds, "an integer of seconds")
    elif number < 1:
        report.invalid(_GRACE, seconds, "must be from 1 on, etcd is not killed without notice", nearest=1)


def _check_tmpfs(pod: JsonObject, report: Report) -> None:
    """Check ``tmpfs``: memory in place of a disk, which is the Pod's and the container's limit counts."""
    tmpfs = pod.get("tmpfs")
    if tmpfs is None or tmpfs is False:
        return
    if tmpfs is not True:
        report.wrong_type(_TMPFS, tmpfs, "true or false")
        return
    if pod.get("persistentVolumeClaimSpec") is not None:
        message = "data is either in memory or on a claim; leave out tmpfs or persistentVolumeClaimSpec"
        report.forbidden(_TMPFS, tmpfs, message)
    if lookup(pod, "resources.limits.memory") is None:
        report.warn(f"{_TMPFS}: without resources.limits.memory a database may take the node's memory")
