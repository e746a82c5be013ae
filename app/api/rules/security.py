"""Security attributes of the members' Pods, which are merged per field over the operator's own.

The operator's own satisfy the restricted Pod Security profile; giving that up is allowed, with a warning.
"""

from app.api.base import JsonObject
from app.api.paths import object_at, whole_number
from app.api.verdict import Report

PATH = "spec.pod.securityContext"

_IDS = ("runAsUser", "runAsGroup", "fsGroup")
_PROFILES = ("RuntimeDefault", "Localhost", "Unconfined")


def check_security(pod: JsonObject, report: Report) -> None:
    """Check ``spec.pod.securityContext``."""
    context = object_at(pod, "securityContext", "spec.pod", report)
    if not context:
        return
    for key in _IDS:
        number = context.get(key)
        if number is not None and (whole_number(number) or 0) < 0:
            report.invalid(f"{PATH}.{key}", number, "must be from 0 to 2147483647", nearest=0)
    if context.get("windowsOptions"):
        message = "members run on Linux; leave it out"
        report.forbidden(f"{PATH}.windowsOptions", context["windowsOptions"], message)
    profile = object_at(context, "seccompProfile", PATH, report)
    kind = None if profile is None else profile.get("type")
    if kind is not None and kind not in _PROFILES:
        report.unsupported(f"{PATH}.seccompProfile.type", kind, _PROFILES, nearest="RuntimeDefault")
    if whole_number(context.get("runAsUser")) == 0 and context.get("runAsNonRoot") is None:
        message = "the operator sets runAsNonRoot, with which no container starts as user 0"
        report.invalid(
            f"{PATH}.runAsUser", 0, f"{message}; set runAsNonRoot: false if root is meant", nearest=1000
        )
    elif context.get("runAsNonRoot") is False or kind == "Unconfined":
        report.warn(f"{PATH}: not the restricted Pod Security profile, some namespaces refuse it")
