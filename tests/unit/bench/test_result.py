from pathlib import Path

import msgspec
import pytest

from bench.result import TIMES, Goal, Result, table, write

BOOTSTRAP = Result("bootstrap", "s", 2.4, 2.0, goal=Goal(1.5))
MEMORY = Result("memory", "MiB", 91.23456, goal=Goal(90, of="value"))
SPEED = Result("reviews", "1/s", 9000, 6000, beside="peer", goal=Goal(1.3, at_least=True))
PLAIN = Result("plain", "s", 1)


def test_a_report_has_seven_keys_for_each_result(tmp_path: Path) -> None:
    path = tmp_path / "build" / "bench.json"
    write([BOOTSTRAP, MEMORY, SPEED, PLAIN], path)
    first, second, third, fourth = msgspec.json.decode(path.read_bytes())
    assert first == {
        "name": "bootstrap",
        "unit": "s",
        "value": 2.4,
        "floor": 2.0,
        "ratio": 1.2,
        "goal": f"≤ 1.5 {TIMES} floor",
        "met": True,
    }
    assert second == {
        "name": "memory",
        "unit": "MiB",
        "value": 91.23,
        "floor": None,
        "ratio": None,
        "goal": "≤ 90 MiB",
        "met": False,
    }
    assert third["peer"] == 6000
    assert third["goal"] == f"≥ 1.3 {TIMES} peer"
    assert "floor" not in third
    assert (fourth["goal"], fourth["met"]) == (None, None)


@pytest.mark.parametrize(
    ("goal", "value", "ratio", "met"),
    [
        (Goal(1.5), 9.0, 1.5, True),
        (Goal(1.5), 1.0, 1.51, False),
        (Goal(1.5), 1.0, None, False),
        (Goal(4, at_least=True), 1.0, 4.0, True),
        (Goal(4, at_least=True), 9.0, 3.9, False),
        (Goal(90, of="value"), 90.0, None, True),
        (Goal(90, of="value"), 90.1, 0.5, False),
    ],
)
def test_a_goal_limits_the_ratio_or_the_value(
    goal: Goal, value: float, ratio: float | None, *, met: bool
) -> None:
    assert goal.met(value, ratio) is met


def test_a_floor_of_nothing_gives_no_ratio() -> None:
    assert Result("x", "s", 1, 0.0).ratio is None


def test_the_table_has_a_line_for_each_result_and_shows_what_is_missed() -> None:
    lines = table([BOOTSTRAP, MEMORY, SPEED, PLAIN]).splitlines()
    assert [line.split()[0] for line in lines] == ["benchmark", "bootstrap", "memory", "reviews", "plain"]
    assert [line.split()[-1] for line in lines] == ["met", "yes", "NO", "yes", "-"]
    assert "peer 6000" in lines[3]
