"""Security attributes of the members' Pods and containers, merged per field over the operator's own.

The operator's own satisfy the restricted Pod Security profile; giving that up is allowed, with a warning.
What the API server would refuse on the Pod, or the kubelet on the container, is denied.
"""

from typing import Any

from app.api.base import JsonObject
from app.api.paths import list_at, object_at, whole_number
from app.api.verdict import Report

PATH = "spec.pod.securityContext"
CONTAINER = "spec.pod.containerSecurityContext"

_IDS = ("runAsUser", "runAsGroup", "fsGroup")
_PROFILES = ("RuntimeDefault", "Localhost", "Unconfined")
_ALL_RIGHTS = {"SYS_ADMIN", "CAP_SYS_ADMIN"}


def check_security(pod: JsonObject, report: Report) -> None:
    """Check ``securityContext`` and ``containerSecurityContext`` of ``spec.pod``."""
    of_pod = object_at(pod, "securityContext", "spec.pod", report) or {}
    of_container = object_at(pod, "containerSecurityContext", "spec.pod", report) or {}
    if of_pod:
        _check_context(PATH, of_pod, of_pod.get("runAsNonRoot"), report)
    if of_container:
        inherited = of_container.get("runAsNonRoot", of_pod.get("runAsNonRoot"))
        _check_context(CONTAINER, of_container, inherited, report)
        _check_privileges(of_container, report)


def _check_context(path: str, context: JsonObject, run_as_non_root: Any, report: Report) -> None:
    for key in _IDS:
        number = context.get(key)
        if number is not None and (whole_number(number) or 0) < 0:
            report.invalid(f"{path}.{key}", number, "must be from 0 to 2147483647", nearest=0)
    if context.get("windowsOptions"):
        message = "members run on Linux; leave it out"
        report.forbidden(f"{path}.windowsOptions", context["windowsOptions"], message)
    profile = object_at(context, "seccompProfile", path, report)
    kind = None if profile is None else profile.get("type")
    if kind is not None and kind not in _PROFILES:
        report.unsupported(f"{path}.seccompProfile.type", kind, _PROFILES, nearest="RuntimeDefault")
    if whole_number(context.get("runAsUser")) == 0 and run_as_non_root is None:
        message = "the operator sets runAsNonRoot, with which no container starts as user 0"
        report.invalid(
            f"{path}.runAsUser", 0, f"{message}; set runAsNonRoot: false if root is meant", nearest=1000
        )
    elif context.get("runAsNonRoot") is False or kind == "Unconfined":
        _warn(path, report)


def _check_privileges(context: JsonObject, report: Report) -> None:
    """Check what only a container has; the operator sets allowPrivilegeEscalation to false."""
    capabilities = object_at(context, "capabilities", CONTAINER, report) or {}
    added = list_at(capabilities, "add", f"{CONTAINER}.capabilities", report)
    list_at(capabilities, "drop", f"{CONTAINER}.capabilities", report)
    escalation = context.get("allowPrivilegeEscalation")
    everything = context.get("privileged") is True or any(
        isinstance(name, str) and name in _ALL_RIGHTS for name in added
    )
    if everything and escalation is not True:
        message = "must be true beside privileged or SYS_ADMIN, or Kubernetes refuses the Pod"
        report.invalid(f"{CONTAINER}.allowPrivilegeEscalation", escalation, message, nearest=True)
    if everything or added or escalation is True:
        _warn(CONTAINER, report)


def _warn(path: str, report: Report) -> None:
    report.warn(f"{path}: not the restricted Pod Security profile, some namespaces refuse it")
