"""The checker finds what is wrong in histories that are known to be bad, and nothing in good ones."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.chaos.history import Kind, Operation, Outcome, longest_gap
from bench.chaos.linearizable import Undecided, check, violations

OK, FAILED, UNKNOWN = Outcome.OK, Outcome.FAILED, Outcome.UNKNOWN


def write(value: str, invoked: float, returned: float, outcome: Outcome = OK, *, key: str = "k") -> Operation:
    return Operation("w", key, Kind.WRITE, value, invoked, returned, outcome)


def read(
    value: str | None, invoked: float, returned: float, outcome: Outcome = OK, *, key: str = "k"
) -> Operation:
    return Operation("r", key, Kind.READ, value, invoked, returned, outcome)


GOOD = {
    "nothing": [],
    "one after the other": [write("a", 0, 1), read("a", 2, 3), write("b", 4, 5), read("b", 6, 7)],
    "a read beside a write sees the old": [write("a", 0, 1), write("b", 2, 5), read("a", 3, 4)],
    "a read beside a write sees the new": [write("a", 0, 1), write("b", 2, 5), read("b", 3, 4)],
    "the old is read after the write began, the new later": [
        write("a", 0, 1),
        write("b", 2, 9),
        read("a", 3, 4),
        read("b", 5, 6),
    ],
    "writes side by side in either order": [write("a", 0, 5), write("b", 1, 4), read("a", 6, 7)],
    "two readers during a long write": [write("a", 0, 9), read(None, 1, 2), read("a", 3, 4)],
    "a failed write is not seen": [write("a", 0, 1), write("b", 2, 3, FAILED), read("a", 4, 5)],
    "an unknown write that never happened": [write("a", 0, 1), write("b", 2, 3, UNKNOWN), read("a", 9, 10)],
    "an unknown write that took effect late": [
        write("a", 0, 1),
        write("b", 2, 3, UNKNOWN),
        read("a", 4, 5),
        read("b", 6, 7),
    ],
    "an unknown write that took effect and was overwritten": [
        write("a", 0, 1, UNKNOWN),
        write("b", 2, 3),
        read("b", 4, 5),
    ],
    "an unknown write that took effect after a later one": [
        write("a", 0, 1, UNKNOWN),
        write("b", 2, 3),
        read("b", 4, 5),
        read("a", 6, 7),
    ],
    "a read that failed says nothing": [write("a", 0, 1), read(None, 2, 3, UNKNOWN)],
}

BAD = {
    "a stale read": [write("a", 0, 1), write("b", 2, 3), read("a", 4, 5)],
    "a lost write": [write("a", 0, 1), read(None, 2, 3)],
    "a lost write, seen before": [write("a", 0, 1), read("a", 2, 3), read(None, 4, 5)],
    "a write applied twice": [write("a", 0, 1), write("b", 2, 3), read("b", 4, 5), read("a", 6, 7)],
    "an unknown write applied twice": [
        write("a", 0, 1, UNKNOWN),
        read("a", 2, 3),
        write("b", 4, 5),
        read("b", 6, 7),
        read("a", 8, 9),
    ],
    "a value from nowhere": [write("a", 0, 1), read("x", 2, 3)],
    "a value from the future": [read("a", 0, 1), write("a", 2, 3)],
    "an unknown value from the future": [read("a", 0, 1), write("a", 2, 3, UNKNOWN)],
    "a failed write that is seen": [write("a", 0, 1, FAILED), read("a", 2, 3)],
    "the new and then the old, beside the write": [
        write("a", 0, 1),
        write("b", 2, 9),
        read("b", 3, 4),
        read("a", 5, 6),
    ],
    "two readers that see two writes in two orders": [
        write("a", 0, 9),
        write("b", 0, 9),
        read("a", 1, 2),
        read("b", 3, 4),
        read("a", 5, 6),
    ],
}


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD)
def test_a_good_history_passes(history: list[Operation]) -> None:
    assert check(history) is None


@pytest.mark.parametrize("history", BAD.values(), ids=BAD)
def test_a_bad_history_is_found(history: list[Operation]) -> None:
    assert check(history) is not None


def test_the_violation_names_the_operation() -> None:
    found = check(BAD["a stale read"])
    assert found is not None
    assert found.operation == read("a", 4, 5)
    assert "b" in found.why


def test_each_key_is_judged_by_itself() -> None:
    good = [write("a", 0, 1), read("a", 2, 3)]
    bad = [write("a", 0, 1, key="other"), read(None, 2, 3, key="other")]
    assert [found.operation.key for found in violations([*good, *bad])] == ["other"]


def test_a_value_that_is_written_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="its name"):
        check([write("a", 0, 1), write("a", 2, 3)])


def test_a_search_that_grows_beyond_all_bounds_is_given_up() -> None:
    history = [write(str(number), 0, 9) for number in range(12)]
    with pytest.raises(Undecided):
        check([*history, read("0", 1, 2)], most_states=10)


def test_thousands_of_unknown_writes_are_no_burden() -> None:
    history = [write(str(number), number, number + 0.5, UNKNOWN) for number in range(5000)]
    seen = [read(str(number), number + 0.6, number + 0.7) for number in range(0, 5000, 50)]
    assert check([*history, *seen]) is None
    assert check([*history, *seen, read("0", 9000, 9001)]) is not None


@given(st.integers(min_value=0, max_value=2**32))
def test_what_a_register_does_is_linearizable(seed: int) -> None:
    """Operations get a moment each, a register answers in that order, and intervals are put around them."""
    source = random.Random(seed)
    value: str | None = None
    history = []
    for moment in range(30):
        begin, end = moment - source.random() * 3, moment + source.random() * 3
        if source.random() < 0.4:
            happens = source.random() < 0.8
            known = happens and source.random() < 0.8
            if happens:
                value = str(moment)
            history.append(write(str(moment), begin, end if known else begin, OK if known else UNKNOWN))
        else:
            history.append(read(value, begin, end))
    assert check(history) is None


def test_the_search_agrees_with_trying_every_order() -> None:
    source = random.Random(7)
    verdicts = set()
    for _ in range(400):
        history = []
        for number in range(5):
            begin = source.random() * 6
            end = begin + source.random() * 3
            if number < 2:
                history.append(write(str(number), begin, end))
            else:
                history.append(read(source.choice([None, "0", "1"]), begin, end))
        found = check(history) is None
        assert found == _by_trying(history)
        verdicts.add(found)
    assert verdicts == {True, False}


def _by_trying(history: list[Operation]) -> bool:
    return any(_explains(order) for order in itertools.permutations(history))


def _explains(order: tuple[Operation, ...]) -> bool:
    value = None
    for index, one in enumerate(order):
        if any(later.returned < one.invoked for later in order[index + 1 :]):
            return False
        if one.kind is Kind.WRITE:
            value = one.value
        elif one.value != value:
            return False
    return True


def test_the_longest_gap_between_writes_is_told_with_its_beginning() -> None:
    history = [write("a", 0, 1), write("b", 1, 2), write("c", 2, 6, UNKNOWN), write("d", 6, 7)]
    assert longest_gap(history, begin=0, end=8) == (5, 2)
    assert longest_gap([], begin=0, end=3) == (3, 0)
