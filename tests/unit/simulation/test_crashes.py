"""A crash after each single call of growing, of shrinking and of replacing, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.simulation.asking import Outcome
from tests.unit.simulation.server import PODS, VOLUMES
from tests.unit.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST, MOST = 5, 200
"""How many calls each of them takes, at the least and at the most."""


def resize(size: int) -> Callable[[World], None]:
    """Ask for another size."""
    return lambda world: world.server.edit(size=size)


def lose(world: World) -> None:
    """Lose a member that does not lead, with its data."""
    gone = next(name for name in sorted(world.server.pods) if name != world.status.leader)
    if world.kubelet.persistent:
        world.server.terminate(VOLUMES, gone)
    world.server.terminate(PODS, gone)


def bring_back(world: World) -> None:
    """Lose the Pods of all members, whose claims stay."""
    for name in list(world.server.pods):
        world.server.terminate(PODS, name)


EVENTS = {
    "growing": (3, resize(5), {True, False}),
    "growing from one": (1, resize(2), {True, False}),
    "shrinking": (3, resize(1), {True, False}),
    "replacing": (3, lose, {True, False}),
    "bringing back": (3, bring_back, {True}),
}
"""From which size, what happens, and on claims or not."""


def crashed(size: int, event: Callable[[World], None], calls: int, *, persistent: bool) -> tuple[World, bool]:
    """A world whose operator dies right after so many calls, and whether there was anything left to call."""
    world = World(size, persistent=persistent)
    world.end()
    world.do_put(0, 0)
    event(world)
    for _ in range(calls):
        world.now += 1.0
        world.kubelet.step_all()
        world.leader.cache.catch_up()
        world.leader.step()
        world.checks.always()
    over = calls > 0 and world.settled()
    world.leader.step(outcome=Outcome.LOST_AFTER)
    world.end()
    return world, over


@pytest.mark.parametrize(
    ("size", "event", "persistent"),
    [
        pytest.param(size, act, kind, id=f"{name}-{kind}")
        for name, (size, act, kinds) in EVENTS.items()
        for kind in sorted(kinds)
    ],
)
def test_B6_B7_I5_a_crash_after_any_call_converges(
    size: int, event: Callable[[World], None], persistent: bool
) -> None:
    """Also one whose answer is lost with the crash. Another operator goes on where this one died."""
    calls, over = 0, False
    while not over:
        world, over = crashed(size, event, calls, persistent=persistent)
        assert world.settled(), f"killed after {calls} calls"
        assert world.checks.acknowledged == 1
        calls += 1
        assert calls < MOST
    assert calls > LEAST


def test_C7_a_claim_is_never_used_by_another_member() -> None:
    """3 → 1 → 3: the names are new, and so are the claims."""
    world = World(3, persistent=True)
    world.end()
    founders = {name: claim.uid for name, claim in world.server.volumes.items()}
    world.server.edit(size=1)
    world.end()
    (survivor,) = world.server.volumes
    world.server.edit(size=3)
    world.end()

    assert world.server.volumes[survivor].uid == founders[survivor]
    assert world.server.volumes.keys() & founders.keys() == {survivor}
