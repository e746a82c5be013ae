"""What the rules find in an object, without ratcheting and without what is not built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.api.validation import compare, examine
from app.api.verdict import Report

if TYPE_CHECKING:
    from app.api.verdict import Fault


def faults(obj: dict[str, Any]) -> list[Fault]:
    """The faults of an object by itself."""
    return examine(obj).faults


def faults_of_change(old: dict[str, Any], new: dict[str, Any]) -> list[Fault]:
    """The faults of an update."""
    report = Report()
    compare(new, old, report)
    return report.faults


def warnings(obj: dict[str, Any]) -> list[str]:
    """The warnings of an object by itself."""
    return examine(obj).warnings
