"""Evictions, through the real Eviction API and the real disruption controller."""

from collections.abc import Callable

import pytest

from app.kube.errors import TooManyRequests
from app.kube.objects import CustomObject, Object
from app.kube.resources import Resource
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import resize, settled
from tests.integration.operator.watching import watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", CustomObject)
"""With the status, which the operator does not read."""

Budgets = dict[str, CustomObject]


def guarding(floor: int, healthy: int) -> Callable[[Budgets], bool]:
    """The condition that the controller counts so many healthy members and demands so many."""

    def reached(found: Budgets) -> bool:
        status = found["c"].status if "c" in found else {}
        return (status.get("desiredHealthy"), status.get("currentHealthy")) == (floor, healthy)

    return reached


async def evict(here: World, member: str) -> None:
    eviction = Resource("", "v1", f"pods/{member}/eviction", "Eviction", Object)
    body = {"apiVersion": "policy/v1", "metadata": {"name": member}}
    await here.api.create(eviction, body, namespace=here.namespace)


async def test_H2_X20_the_second_of_two_evictions_is_refused_and_five_have_a_floor_of_three(
    here: World,
) -> None:
    await here.create("c")
    async with (
        operator(config(here.namespace, here.kubeconfig), here.dialer),
        watching(here, BUDGETS) as watched,
    ):
        status = await here.until("c", settled(3))
        await watched.until(guarding(2, 3))
        first, second, _ = status.members.ready
        await evict(here, first)
        with pytest.raises(TooManyRequests):
            await evict(here, second)

        await resize(here, "c", 5)
        await here.until("c", settled(5))
        await watched.until(guarding(3, 5))


async def test_H2_ours_gives_way_to_one_of_the_users_and_returns(here: World) -> None:
    await here.create("c")
    theirs = {"metadata": {"name": "theirs"}, "spec": {"maxUnavailable": 1, "selector": {}}}
    async with (
        operator(config(here.namespace, here.kubeconfig), here.dialer),
        watching(here, BUDGETS) as watched,
    ):
        await watched.until(lambda found: set(found) == {"c"})
        await here.api.create(BUDGETS, theirs, namespace=here.namespace)
        await watched.until(lambda found: set(found) == {"theirs"})
        await here.api.delete(BUDGETS, here.namespace, "theirs")
        await watched.until(lambda found: set(found) == {"c"})
        off = {"spec": {"podDisruptionBudget": False}}
        await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", off)
        await watched.until(lambda found: not found)
