"""What clients did and saw: a history of operations on registers."""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What an operation does to its key."""

    WRITE = "write"
    READ = "read"


class Outcome(StrEnum):
    """What its client knows of an operation's end."""

    OK = "ok"
    FAILED = "failed"
    """It had no effect and never will have."""
    UNKNOWN = "unknown"
    """It may have taken effect, may yet do so, or never will."""


class Operation(msgspec.Struct, frozen=True):
    """One operation of one client; times are in seconds on one monotonic clock.

    ``value`` is what was written or read; None is what a key holds that was never written. Each write of a
    key writes another value, so a value names its write.
    """

    client: str
    key: str
    kind: Kind
    value: str | None
    invoked: float
    returned: float
    outcome: Outcome = Outcome.OK

    def __str__(self) -> str:
        return (
            f"{self.client} {self.kind} {self.key}={self.value} "
            f"[{self.invoked:.3f}, {self.returned:.3f}] {self.outcome}"
        )


def by_key(operations: Iterable[Operation]) -> Mapping[str, list[Operation]]:
    """The operations of each key, in the order in which they were recorded."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for one in operations:
        found[one.key].append(one)
    return found


def longest_gap(operations: Iterable[Operation], *, begin: float, end: float) -> tuple[float, float]:
    """The longest time between two acknowledged writes, in seconds, and when it began."""
    moments = [
        begin,
        *sorted(
            one.returned
            for one in operations
            if one.kind is Kind.WRITE and one.outcome is Outcome.OK and begin <= one.returned <= end
        ),
        end,
    ]
    return max((after - before, before) for before, after in itertools.pairwise(moments))
