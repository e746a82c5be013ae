"""The number of members.

Seven is etcd's own advice for the largest cluster (its FAQ: every write is acknowledged by a majority). An
even size has the quorum of the odd size above it and survives only what the odd size below it does.
"""

from typing import Any

from app.api.paths import whole_number
from app.api.verdict import Report

LEAST = 1
MOST = 7
RANGE = f"must be from {LEAST} to {MOST}"


def check_size(size: Any, report: Report, *, path: str = "spec.size") -> None:
    """Check a number of members, which is at ``path``; absent means the default."""
    if size is None:
        return
    number = whole_number(size)
    if number is None:
        report.wrong_type(path, size, f"an integer from {LEAST} to {MOST}")
    elif not LEAST <= number <= MOST:
        report.invalid(path, size, RANGE, nearest=LEAST if number < LEAST else MOST)
    elif number % 2 == 0:
        below, above = number - 1, number + 1
        report.warn(f"{path}: {number} members survive no more failures than {below}; use {below} or {above}")
