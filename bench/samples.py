"""Repeated measurements: taken in turns, so that a drift of the machine hits all sides, and summed up."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import TypeVar

T = TypeVar("T")


async def interleaved(
    sides: Mapping[str, Callable[[int], Awaitable[T]]], *, repetitions: int, warm_ups: int = 1
) -> dict[str, list[T]]:
    """Measure each side so many times, in turns, and return what they gave.

    A side is called with the number of the round. Each other round goes backwards, so that no side always
    comes after the same one. The first `warm_ups` rounds don't count: they fill caches of images and files.
    """
    found: dict[str, list[T]] = {name: [] for name in sides}
    for turn in range(warm_ups + repetitions):
        names = list(sides)
        for name in names if turn % 2 == 0 else reversed(names):
            value = await sides[name](turn)
            if turn >= warm_ups:
                found[name].append(value)
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that `share` (0 to 1) of them don't exceed: the nearest-rank method.

    Raises ValueError if there are none.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summary(values: Sequence[float], *, unit: str = "s") -> str:
    """The median and the range, for the progress log."""
    return f"{median(values):.3f} {unit} (from {min(values):.3f} to {max(values):.3f}, n={len(values)})"
