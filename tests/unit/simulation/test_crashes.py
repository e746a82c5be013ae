"""A crash after each single call of growing and of shrinking, one after the other."""

from __future__ import annotations

import pytest

from tests.unit.simulation.asking import Outcome
from tests.unit.simulation.world import World

CALLS = 40
"""More than a change of the size takes."""


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("size", [5, 1])
def test_B7_a_crash_after_any_call_converges(size: int, persistent: bool) -> None:
    """Also one whose answer is lost with the crash."""
    for calls in range(CALLS):
        world = World(3, persistent=persistent)
        world.end()
        world.do_put(0, 0)
        world.server.edit(size=size)
        for _ in range(calls):
            world.now += 1.0
            world.kubelet.step_all()
            world.leader.cache.catch_up()
            world.leader.step()
            world.checks.always()
        world.leader.step(outcome=Outcome.LOST_AFTER)
        world.end()

        assert world.settled()
        assert world.checks.acknowledged == 1


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
