"""The operator against everything that can go wrong at once, searched by walks that are drawn from seeds.

``SIMULATION_STEPS`` asks for more of them, ``SIMULATION_SEED`` for others. A walk that fails is shortened and
printed; it belongs into this file, and what it taught into a test of the decision that it is about.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.unit.simulation.walk import draw, failure, shortest
from tests.unit.simulation.world import WITHOUT_LEARNERS, World

STEPS = int(os.environ.get("SIMULATION_STEPS", "100000"))
SEED = int(os.environ.get("SIMULATION_SEED", "0"))
LENGTH = 250
BATCHES = 10


@pytest.mark.parametrize("batch", range(BATCHES))
def test_whatever_happens_nothing_is_lost_nobody_is_lied_to_and_all_settles(batch: int) -> None:
    walks = max(1, STEPS // LENGTH // BATCHES)
    for seed in range(SEED + batch * walks, SEED + (batch + 1) * walks):
        walk = draw(seed, LENGTH)
        if failure(walk):
            short = shortest(walk)
            pytest.fail(f"seed {seed}: {failure(short)}\n{short}", pytrace=False)


def test_X19_whatever_happens_a_cluster_that_grows_by_voters_settles() -> None:
    """As etcd before 3.4 makes it: crashes between an add and the Pod, and all else, in a tenth of the steps."""
    for seed in range(SEED, SEED + max(1, STEPS // LENGTH // BATCHES)):
        walk = replace(draw(seed, LENGTH), version=WITHOUT_LEARNERS)
        if failure(walk):
            short = shortest(walk)
            pytest.fail(f"seed {seed}: {failure(short)}\n{short}", pytrace=False)


def test_walks_are_the_same_for_a_seed() -> None:
    first, second = (draw(7, LENGTH).run() for _ in range(2))

    assert first.server.log == second.server.log


@pytest.mark.parametrize("persistent", [True, False])
def test_a_cluster_without_faults_is_founded_grown_and_shrunk(persistent: bool) -> None:
    world = World(3, persistent=persistent)
    world.end()
    world.do_put(0, 0)
    for size in (5, 1, 7, 2):
        world.server.edit(size=size)
        world.end()
        world.do_put(0, 0)

    assert world.settled()
    assert world.checks.acknowledged == 5
