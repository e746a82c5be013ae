import pytest

from tests.cluster.errors import HarnessError
from tests.cluster.waiting import HopelessError, NotInTimeError, wait_until


def test_what_the_condition_returns() -> None:
    answers = iter(["", "", "there"])
    assert wait_until(lambda: next(answers), timeout=10, what="an answer", every=0) == "there"


def test_a_reason_is_told_when_the_time_is_over() -> None:
    def condition() -> bool:
        raise HarnessError("no route")

    with pytest.raises(NotInTimeError, match="Waited 0 s for the moon: no route"):
        wait_until(condition, timeout=0, what="the moon")


def test_it_is_asked_at_least_once() -> None:
    assert wait_until(lambda: True, timeout=0, what="nothing")


@pytest.mark.parametrize("error", [HopelessError("it ended"), ValueError("a bug")])
def test_what_ends_the_waiting_at_once(error: Exception) -> None:
    def condition() -> bool:
        raise error

    with pytest.raises(type(error)) as raised:
        wait_until(condition, timeout=1000, what="the moon")
    assert raised.value is error
