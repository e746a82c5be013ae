"""Clusters that have lost all their data, behind a real API server."""

import asyncio

import pytest

from app.api.base import GROUP
from app.api.status import ClusterStatus
from app.kube.objects import Pod
from app.kube.resources import PODS, SERVICES
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import settled
from tests.integration.operator.watching import Watched, watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration


def told(status: ClusterStatus) -> bool:
    """Whether the loss is told with the name of the incident."""
    available = next((one for one in status.conditions if one.type == "Available"), None)
    incident = status.journal.incident
    return (
        available is not None
        and (available.status, available.reason) == ("False", "DataLost")
        and incident is not None
        and bool(incident.token)
        and f"found-anew={incident.token}" in available.message
    )


async def lose_all(here: World, pods: Watched[Pod]) -> None:
    """Delete every Pod at once; the data of each goes with it."""
    await asyncio.gather(*(here.api.delete(PODS, here.namespace, name) for name in pods.now()))


async def order(here: World, token: str) -> None:
    body = {"metadata": {"annotations": {f"{GROUP}/found-anew": token}}}
    await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", body)


async def test_A11_X3_all_data_lost_is_told_and_founded_anew_by_the_incidents_name_alone(here: World) -> None:
    await here.create("c")
    settings = config(here.namespace, here.kubeconfig)
    async with (
        watching(here, PODS) as pods,
        watching(here, SERVICES) as services,
        operator(settings, here.dialer),
    ):
        before = await here.until("c", settled(3))
        members = set(pods.now())
        await lose_all(here, pods)
        lost = await here.until("c", told)
        assert lost.ready_members == 0
        assert not pods.now(), "nothing is founded by itself"
        assert lost.journal.incident is not None
        first = lost.journal.incident.token

        await order(here, first)
        await services.until(lambda found: "c-client" not in found)
        after = await here.until("c", settled(3))
        assert after.cluster_id not in {"", before.cluster_id}
        assert members.isdisjoint(pods.now())
        await services.until(lambda found: "c-client" in found)

        # The annotation is still there, as one that was left in Git, when it happens again.
        await lose_all(here, pods)
        again = await here.until("c", told)
        assert again.journal.incident is not None
        assert again.journal.incident.token != first
        assert again.cluster_id == after.cluster_id
        assert not pods.now()
