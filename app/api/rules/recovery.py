"""What the operator does by itself about members that do not come back.

Both deadlines guard against what a restart, a slow image pull or a node's reboot looks like: too short a one
replaces members that were about to return.
"""

from typing import Any

from app.api.base import JsonObject
from app.api.paths import object_at, whole_number
from app.api.verdict import Report

PATH = "spec.recovery"
LEAST = 30
MOST = 604800
RANGE = f"must be from {LEAST} to {MOST} seconds"

_WAYS = ("Manual", "ForceNewCluster", "Restore")


def check_recovery(spec: JsonObject, report: Report) -> None:
    """Check ``spec.recovery``."""
    recovery = object_at(spec, "recovery", "spec", report)
    if recovery is None:
        return
    _check_deadline(recovery.get("memberReplaceAfterSeconds"), report)
    way = recovery.get("quorumLoss")
    if way is not None and way not in _WAYS:
        report.unsupported(f"{PATH}.quorumLoss", way, _WAYS, nearest="Manual")
    if way == "ForceNewCluster" and not _on_claims(spec):
        report.warn(f"{PATH}.quorumLoss: has no effect, data that is not on claims goes with the Pods")


def _check_deadline(seconds: Any, report: Report) -> None:
    if seconds is None:
        return
    path = f"{PATH}.memberReplaceAfterSeconds"
    number = whole_number(seconds)
    if number is None:
        report.wrong_type(path, seconds, f"an integer from {LEAST} to {MOST}")
    elif not LEAST <= number <= MOST:
        report.invalid(path, seconds, RANGE, nearest=LEAST if number < LEAST else MOST)


def _on_claims(spec: JsonObject) -> bool:
    pod = spec.get("pod")
    return isinstance(pod, dict) and pod.get("persistentVolumeClaimSpec") is not None
