"""What goes wrong when: drawn from a seed before anything begins, so that a run can be asked for again.

Three lanes run side by side, each with one fault at a time and a pause between: the machines, the members,
and what controls them. So up to three things are wrong at once. A fault does not name its victims, since
names differ from run to run; it has a number to choose them by.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

LONGEST_PAUSE = 6.0
SHORT_HOLD = (1.0, 12.0)
LONG_HOLD = (20.0, 60.0)
"""In seconds. A long one outlasts the operator's Lease, and what Kubernetes waits before it evicts."""

LONG_SHARE = 0.08
"""How many of the faults last long."""


class Fault(StrEnum):
    """Everything that may go wrong."""

    STOP_NODE = "stop a node"
    STOP_ALL_NODES = "stop all nodes"
    CUT_NODE = "cut a node off"
    FREEZE_KUBELET = "freeze a kubelet"
    DELETE_POD = "delete a member's Pod"
    FORGET_POD = "delete a member's Pod without waiting for its kubelet"
    DELETE_TWO_PODS = "delete the Pods of two members at once"
    KILL_MEMBER = "kill a member's etcd"
    FREEZE_MEMBER = "freeze a member's etcd"
    CUT_POD = "cut a member's Pod off"
    PART_PODS = "part two members"
    UNLABEL_POD = "take the labels off a member's Pod"
    WIPE_MEMBER = "delete a member's data"
    RESTART_API_SERVER = "stop the API server"
    CRASH_OPERATOR = "kill the operator"
    FREEZE_OPERATOR = "freeze the operator's leader"
    CUT_OPERATOR = "cut the operator's leader off from the API server"
    RESIZE = "ask for another size"


LANES: Mapping[str, Mapping[Fault, int]] = {
    "machines": {Fault.STOP_NODE: 4, Fault.STOP_ALL_NODES: 1, Fault.CUT_NODE: 4, Fault.FREEZE_KUBELET: 3},
    "members": {
        Fault.DELETE_POD: 4,
        Fault.FORGET_POD: 1,
        Fault.DELETE_TWO_PODS: 2,
        Fault.KILL_MEMBER: 2,
        Fault.FREEZE_MEMBER: 4,
        Fault.CUT_POD: 3,
        Fault.PART_PODS: 3,
        Fault.UNLABEL_POD: 1,
        Fault.WIPE_MEMBER: 3,
    },
    "control": {
        Fault.RESTART_API_SERVER: 3,
        Fault.CRASH_OPERATOR: 4,
        Fault.FREEZE_OPERATOR: 3,
        Fault.CUT_OPERATOR: 2,
        Fault.RESIZE: 5,
    },
}
"""The faults of each lane, and how often each comes in proportion to the others."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One fault: after a pause it is inflicted, held and undone; ``choice`` picks its victims."""

    fault: Fault
    pause: float
    hold: float
    choice: int


def draw(seed: int, seconds: float) -> dict[str, tuple[Planned, ...]]:
    """The faults of each lane, enough for that many seconds if carrying them out took no time."""
    return {lane: _lane(random.Random(f"{seed}/{lane}"), lane, seconds) for lane in LANES}


def _lane(source: random.Random, lane: str, seconds: float) -> tuple[Planned, ...]:
    faults = LANES[lane]
    planned: list[Planned] = []
    left = seconds
    while left > 0:
        (fault,) = source.choices(list(faults), weights=list(faults.values()))
        pause = source.uniform(0.5, LONGEST_PAUSE)
        hold = source.uniform(*(LONG_HOLD if source.random() < LONG_SHARE else SHORT_HOLD))
        planned.append(Planned(fault, pause, hold, source.randrange(1 << 16)))
        left -= pause + hold
    return tuple(planned)
