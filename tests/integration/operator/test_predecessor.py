"""A resource that is on its way out, or has just been made again, on a real API server."""

from contextlib import suppress

import pytest

from app.api.status import ClusterStatus
from app.kube.errors import NotFound
from app.kube.objects import Pod
from app.kube.resources import PODS, SERVICES
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import settled
from tests.integration.operator.watching import watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration

HOLDING = ["test.example/hold"]


def waits_for_predecessor(status: ClusterStatus) -> bool:
    return any(one.reason == "PredecessorTerminating" for one in status.conditions)


async def hold(here: World, pod: Pod, finalizers: list[str] | None = HOLDING) -> None:
    """Keep a Pod that is deleted in being, or no longer."""
    await here.api.patch(PODS, here.namespace, pod.metadata.name, {"metadata": {"finalizers": finalizers}})


def uids(pods: list[Pod]) -> set[str]:
    return {pod.metadata.uid for pod in pods}


async def test_a_cluster_made_again_at_once_waits_until_nothing_of_the_former_is_left(here: World) -> None:
    """Its clients must not be sent to the dying Pods, nor its members find them by the names."""
    former = await here.create("c")
    async with operator(config(here.namespace, here.kubeconfig), here.dialer):
        old = await here.until("c", settled(3))
        pods, services = await here.children("c")
        for pod in pods:  # which the garbage collector may be quick to delete
            await hold(here, pod)
        await here.api.delete(ETCD_CLUSTERS, here.namespace, "c")
        await here.clusters.saw_gone(former.metadata.key, former.metadata.uid)
        await here.create("c")
        await here.until("c", waits_for_predecessor)
        assert uids((await here.children("c"))[0]) <= uids(pods)

        for pod in pods:
            await here.api.delete(PODS, here.namespace, pod.metadata.name)
            await hold(here, pod, finalizers=None)
            await here.kubelet.pods.saw_gone(pod.metadata.key, pod.metadata.uid)
        for service in services:
            with suppress(NotFound):
                await here.api.delete(SERVICES, here.namespace, service.metadata.name)
        new = await here.until("c", settled(3))
        assert not uids((await here.children("c"))[0]) & uids(pods)
    assert new.cluster_id != old.cluster_id


async def test_nothing_is_made_for_a_cluster_that_is_being_deleted(here: World) -> None:
    """As with ``--cascade=foreground``: the resource stays until its children are gone."""
    claim = {"persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}}}
    made = await here.create("c", pod=claim)  # on claims a Pod that is gone would be made anew at once
    async with (
        operator(config(here.namespace, here.kubeconfig), here.dialer),
        watching(here, PODS) as watched,
    ):
        status = await here.until("c", settled(3))
        held = {"metadata": {"finalizers": HOLDING}}
        await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", held)
        await here.api.delete(ETCD_CLUSTERS, here.namespace, "c")
        gone, *rest = status.members.ready
        await here.api.delete(PODS, here.namespace, gone)
        await watched.until(lambda found: gone not in found)

        # Whatever the operator has to do about the loss, it has done when another cluster is complete.
        await here.create("other", size=1)
        await here.until("other", settled(1))
        assert {name for name in watched.now() if name.startswith("c-")} == set(rest)
        live = await here.api.get(ETCD_CLUSTERS, here.namespace, "c")
        assert live.metadata.uid == made.metadata.uid
        await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", {"metadata": {"finalizers": None}})
