"""What a benchmark found: a value, what was measured beside it, and whether the goal is met."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

Beside = Literal["floor", "peer"]
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True)
class Goal:
    """A limit for the ratio, or for the value itself where ``of`` says so; `at_least` turns it round."""

    limit: float
    of: Literal["ratio", "value"] = "ratio"
    at_least: bool = False

    def met(self, value: float, ratio: float | None) -> bool:
        """Whether a result is within the limit; one that lacks the ratio is not."""
        found = value if self.of == "value" else ratio
        if found is None:
            return False
        return found >= self.limit if self.at_least else found <= self.limit

    def text(self, unit: str, beside: Beside) -> str:
        """The goal in words: a sign, the limit, and the unit or what it is a multiple of."""
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.limit:g} {unit if self.of == 'value' else f'{TIMES} {beside}'}"


@dataclass(frozen=True, slots=True)
class Result:
    """One number in `unit`; `other` is the same of what it was measured beside, if anything was."""

    name: str
    unit: str
    value: float
    other: float | None = None
    beside: Beside = "floor"
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        """How many times `other` the value is."""
        return self.value / self.other if self.other else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        return self.goal.met(self.value, self.ratio) if self.goal else None

    def to_json(self) -> dict[str, Any]:
        """The object of this result in the report, the same seven keys each time."""
        return {
            "name": self.name,
            "unit": self.unit,
            "value": _rounded(self.value),
            self.beside: _rounded(self.other),
            "ratio": _rounded(self.ratio),
            "goal": self.goal.text(self.unit, self.beside) if self.goal else None,
            "met": self.met,
        }


def _rounded(value: float | None) -> float | None:
    """Four digits are more than any measurement here is good for."""
    return None if value is None else float(f"{value:.4g}")


def table(results: Iterable[Result]) -> str:
    """The results for people, one a line."""
    rows = [("benchmark", "value", "unit", "beside", "ratio", "goal", "met")]
    for one in results:
        found = one.to_json()
        other = f"{one.beside} {_shown(found[one.beside])}" if one.other is not None else "-"
        met = {True: "yes", False: "NO", None: "-"}[one.met]
        rows.append(
            (one.name, _shown(found["value"]), one.unit, other, _shown(one.ratio), found["goal"] or "-", met)
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


def write(results: Sequence[Result], path: Path) -> None:
    """Write the report: a JSON list of the results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.encode([one.to_json() for one in results])
    path.write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")
