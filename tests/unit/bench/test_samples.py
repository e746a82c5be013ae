import pytest

from bench.samples import interleaved, percentile, summary


async def test_sides_take_turns_and_warm_ups_do_not_count() -> None:
    calls: list[str] = []

    async def one(turn: int) -> str:
        calls.append(f"one {turn}")
        return calls[-1]

    async def other(turn: int) -> str:
        calls.append(f"other {turn}")
        return calls[-1]

    found = await interleaved({"one": one, "other": other}, repetitions=2)
    assert calls == ["one 0", "other 0", "other 1", "one 1", "one 2", "other 2"]
    assert found == {"one": ["one 1", "one 2"], "other": ["other 1", "other 2"]}


@pytest.mark.parametrize(("share", "value"), [(0.0, 1), (0.5, 50), (0.99, 99), (0.991, 100), (1.0, 100)])
def test_a_percentile_is_a_value_that_was_measured(share: float, value: float) -> None:
    assert percentile([*range(100, 0, -1)], share) == value


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_a_summary_tells_median_range_and_number() -> None:
    assert summary([3.0, 1.0, 2.0]) == "2.000 s (from 1.000 to 3.000, n=3)"
