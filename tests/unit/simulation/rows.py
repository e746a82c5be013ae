"""What tests of users' reports share: a cluster that serves, and looks at it while time passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.api.cluster import ClusterSpec
from tests.unit.simulation.server import PODS
from tests.unit.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable


REPLACE_SECONDS = ClusterSpec().replace_after


def settled(size: int, *, persistent: bool = True) -> World:
    """A world whose cluster has this size, with a key in it."""
    world = World(size, persistent=persistent)
    world.end()
    world.do_put(0, 0)
    return world


def serving(world: World) -> Callable[[], None]:
    """A look that fails when the cluster does not serve, or says that it does not."""

    def look() -> None:
        before = world.checks.acknowledged
        # As a client does: a member that was just removed refuses, and the next endpoint is tried.
        for endpoint in range(len(world.server.pods)):
            if world.checks.acknowledged == before:
                world.do_put(endpoint, 0)
        assert world.checks.acknowledged == before + 1
        assert world.condition("Available")[0] == "True"

    return look


def uids(world: World) -> dict[str, str]:
    return {name: pod.uid for name, pod in world.server.pods.items()}


def followers(world: World) -> list[str]:
    """The members that do not lead."""
    return [name for name in sorted(world.server.pods) if name != world.status.leader]


def starts(world: World, member: str) -> int:
    """How many Pods of a member there have been."""
    seen = {change.value.uid for change in world.server.log[PODS] if change.value and change.name == member}
    return len(seen)


def in_silence(world: World, seconds: float) -> None:
    """Time in which no kubelet reports anything."""
    until = world.now + seconds
    while world.now < until:
        world.do_turn(0, 0)
        world.checks.always()
        world.now += 1.0
