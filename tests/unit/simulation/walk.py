"""Random walks through the world, one for each seed; and the shortest walk that still fails.

A walk runs for some operations and then to its end, where everything must settle.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.unit.simulation.world import VERSION, Operation, World

USUAL = {"call": 60, "turn": 3, "watch": 20, "kubelet": 25, "kubelets": 4, "wait": 12, "put": 4}
FAULTS = {
    "takeover": 4,
    "late": 6,
    "delete_pod": 3,
    "evict": 2,
    "kill": 3,
    "delete_volume": 2,
    "wipe": 2,
    "cut": 3,
    "lag": 2,
    "silence": 2,
    "mislead": 1,
    "heal": 4,
    "block": 2,
    "resize": 3,
    "pause": 1,
    "forget": 1,
}


@dataclass(frozen=True, slots=True)
class Walk:
    """What happens in a world that begins with a spec of this size and version.

    Or with a cluster that the old operator left, to be ``adopted``.
    """

    size: int
    persistent: bool
    operations: tuple[Operation, ...]
    version: str = VERSION
    adopted: bool = False

    def run(self) -> World:
        """Walk to the end. Raises ViolationError where something does not hold."""
        if self.adopted:
            world = World.of_old(self.size, persistent=self.persistent)
        else:
            world = World(self.size, persistent=self.persistent, version=self.version)
        for operation in self.operations:
            world.apply(operation)
        world.end()
        return world


def draw(seed: int, length: int) -> Walk:
    """Draw a walk."""
    chance = random.Random(seed)
    share = chance.choice((0.0, 0.05, 0.1, 0.2, 0.4))
    weights = {
        **USUAL,
        **{name: weight * share * 10 for name, weight in FAULTS.items()},
    }
    kinds = chance.choices(list(weights), list(weights.values()), k=length)
    calm = chance.randrange(length // 2)
    operations: list[Operation] = []
    for at, kind in enumerate(kinds):
        usual = kind if at >= calm or kind in USUAL else "turn"
        operations.append((usual, chance.randrange(8), chance.randrange(24)))
    return Walk(chance.choice((1, 2, 3, 3, 3, 5)), chance.random() < 0.5, tuple(operations))


def failure(walk: Walk) -> str:
    """Why a walk fails; empty for one that does not."""
    try:
        walk.run()
    except Exception as error:  # noqa: BLE001 - whatever it fails with is the counterexample
        return f"{type(error).__name__}: {error}"
    return ""


def shortest(walk: Walk) -> Walk:
    """Leave out what a walk fails without, in ever smaller pieces (as delta debugging does)."""
    size = len(walk.operations) // 2
    while size:
        at = 0
        while at < len(walk.operations):
            rest = walk.operations[:at] + walk.operations[at + size :]
            shorter = replace(walk, operations=rest)
            if failure(shorter):
                walk = shorter
            else:
                at += size
        size //= 2
    return walk
