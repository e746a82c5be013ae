"""Growing, shrinking and replacing, with models of etcd behind a real API server."""

from collections.abc import Callable

import pytest

from app.api.conditions import is_true
from app.api.status import ClusterStatus
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration


def settled(size: int) -> Callable[[ClusterStatus], bool]:
    """The condition that a cluster has that many members and all of them are ready."""

    def reached(status: ClusterStatus) -> bool:
        return is_true(status.conditions, "Ready") and status.size == status.ready_members == size

    return reached


async def resize(here: World, name: str, size: int) -> None:
    await here.api.patch(ETCD_CLUSTERS, here.namespace, name, {"spec": {"size": size}})


async def test_C3_a_cluster_grows_by_learners_and_shrinks_to_one(here: World) -> None:
    await here.create("c", size=1)
    async with operator(config(here.namespace, here.kubeconfig), here.dialer):
        status = await here.until("c", settled(1))
        for size in (3, 1, 2):
            await resize(here, "c", size)
            status = await here.until("c", settled(size))
            pods, _ = await here.children("c")
            assert {pod.metadata.name for pod in pods} == set(status.members.ready)
    assert status.journal.intent is None
