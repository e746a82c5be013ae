"""Decide whether a history of reads and writes of one register is linearizable.

It is if each operation can be given one moment between its invocation and its return so that, in the order of
these moments, every read returns what was written last. The search goes through the history once, event by
event, and keeps every state that the register may be in: its value, and which of the operations under way
have had their moment. An operation has to have had it when it returns, so only then are orders tried. States
that are reached twice are kept once. (Wing and Gong, "Testing and verifying concurrent objects", 1993; Lowe,
"Testing for linearizability", 2017: just-in-time linearization.)

Writes whose outcome is unknown would stay under way for ever and make the search exponential. Each write has
a value of its own, which bounds them: one that nobody has read need not have happened at all, since leaving
it out changes no read; one that was read has happened when the first such read returns.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from bench.chaos.history import Kind, Operation, Outcome, by_key

MOST_STATES = 100_000
"""So many states at once are more than any search here is worth."""


class Undecided(Exception):  # noqa: N818 - it is no error of the history
    """Too much is under way at once to decide."""


@dataclass(frozen=True, slots=True)
class Violation:
    """The first operation that fits no order, and why."""

    operation: Operation
    why: str

    def __str__(self) -> str:
        return f"{self.operation}: {self.why}"


class _State(NamedTuple):
    value: str | None
    done: frozenset[int]


def violations(operations: Iterable[Operation]) -> list[Violation]:
    """Check each key; at most one violation a key. Raises Undecided."""
    found = (check(history) for history in by_key(operations).values())
    return [one for one in found if one is not None]


def check(history: Iterable[Operation], *, most_states: int = MOST_STATES) -> Violation | None:
    """Check the operations of one key, which nobody has written before.

    Raises Undecided, and ValueError where two writes have the same value.
    """
    recorded = list(history)
    impossible = _impossible_read(recorded)
    if impossible is not None:
        return impossible
    operations = _that_happened(recorded)
    states = {_State(None, frozenset())}
    under_way: dict[int, Operation] = {}
    for number, is_return in _events(operations):
        if not is_return:
            under_way[number] = operations[number]
            continue
        reached = _return(number, under_way, states, most_states)
        if not reached:
            values = ", ".join(sorted({str(state.value) for state in states}))
            return Violation(operations[number], f"no order explains it; the value was one of: {values}")
        del under_way[number]
        states = reached
    return None


def _return(
    number: int, under_way: dict[int, Operation], states: set[_State], most_states: int
) -> set[_State]:
    """The states in which an operation has had its moment; it is left out of them, since it has returned."""
    reached: set[_State] = set()
    seen = set(states)
    todo = list(states)
    while todo:
        state = todo.pop()
        if number in state.done:
            reached.add(_State(state.value, state.done - {number}))
            continue
        for other, operation in under_way.items():
            if other in state.done or (operation.kind is Kind.READ and operation.value != state.value):
                continue
            after = _State(operation.value, state.done | {other})
            if after not in seen:
                seen.add(after)
                todo.append(after)
        if len(seen) > most_states:
            raise Undecided(f"{len(seen)} states at {under_way[number]}")
    return reached


def _events(operations: list[Operation]) -> list[tuple[int, bool]]:
    """Invocations and returns in time; those of one moment overlap."""
    moments = [
        *((one.invoked, False, number) for number, one in enumerate(operations)),
        *((one.returned, True, number) for number, one in enumerate(operations)),
    ]
    return [(number, is_return) for _, is_return, number in sorted(moments)]


def _writes(history: list[Operation]) -> dict[str | None, Operation]:
    writes: dict[str | None, Operation] = {}
    for one in history:
        if one.kind is Kind.WRITE:
            if one.value is None or one.value in writes:
                raise ValueError(f"the value of a write is its name, and this one's is not: {one}")
            writes[one.value] = one
    return writes


def _reads(history: list[Operation]) -> list[Operation]:
    return [one for one in history if one.kind is Kind.READ and one.outcome is Outcome.OK]


def _impossible_read(history: list[Operation]) -> Violation | None:
    """A read of what nobody had written, whatever the order."""
    writes = _writes(history)
    for read in _reads(history):
        if read.value is None:
            continue
        write = writes.get(read.value)
        if write is None:
            return Violation(read, "nobody has written that")
        if write.outcome is Outcome.FAILED:
            return Violation(read, f"that write had failed: {write}")
        if read.returned < write.invoked:
            return Violation(read, f"it was written later: {write}")
    return None


def _that_happened(history: list[Operation]) -> list[Operation]:
    """The operations that took effect, those of unknown outcome with the end that is known for them."""
    seen: dict[str | None, float] = {}
    for read in _reads(history):
        seen[read.value] = min(read.returned, seen.get(read.value, read.returned))
    happened = _reads(history)
    for write in _writes(history).values():
        if write.outcome is Outcome.OK:
            happened.append(write)
        elif write.outcome is Outcome.UNKNOWN and write.value in seen:
            happened.append(msgspec.structs.replace(write, returned=seen[write.value]))
    return happened
