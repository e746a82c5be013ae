"""The operator against everything that can go wrong at once, searched by walks that are drawn from seeds.

``SIMULATION_STEPS`` asks for more of them, ``SIMULATION_SEED`` for others. A walk that fails is shortened and
printed; it belongs into this file, and what it taught into a test of the decision that it is about.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.simulation.walk import draw, failure, shortest
from tests.unit.simulation.world import WITHOUT_LEARNERS, World

STEPS = int(os.environ.get("SIMULATION_STEPS", "100000"))
SEED = int(os.environ.get("SIMULATION_SEED", "0"))
LENGTH = 250
BATCHES = 10


@pytest.mark.parametrize("batch", range(BATCHES))
def test_whatever_happens_nothing_is_lost_nobody_is_lied_to_and_all_settles(batch: int) -> None:
    _search(SEED + batch * max(1, STEPS // LENGTH // BATCHES))


def test_X19_whatever_happens_a_cluster_that_grows_by_voters_settles() -> None:
    """As etcd before 3.4 makes it: crashes between an add and the Pod, and all else."""
    _search(SEED, version=WITHOUT_LEARNERS)


def test_I8_whatever_happens_a_cluster_of_the_old_operators_is_adopted_and_settles() -> None:
    """Also when the caches have seen half of it: it was founded anew once, and a healthy member replaced."""
    _search(SEED, adopted=True)


@pytest.mark.parametrize("persistent", [True, False])
def test_I8_without_faults_a_cluster_is_adopted_without_a_new_pod(persistent: bool) -> None:
    world = World.of_old(3, persistent=persistent)
    uids = {name: pod.uid for name, pod in world.server.pods.items()}
    world.do_put(0, 0)
    world.end()

    assert world.settled()
    assert {name: pod.uid for name, pod in world.server.pods.items()} == uids
    assert world.checks.acknowledged == 1


def _search(first: int, **changes: Any) -> None:
    """Search a tenth of the steps."""
    for seed in range(first, first + max(1, STEPS // LENGTH // BATCHES)):
        walk = replace(draw(seed, LENGTH), **changes)
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
