"""What a cluster is survives the loss of its status."""

import asyncio

import pytest

from app.api.conditions import is_true
from app.kube.objects import Pod
from app.kube.resources import PODS
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.world import PATIENCE_SECONDS, World

pytestmark = pytest.mark.integration


async def test_a_cluster_whose_status_is_wiped_goes_on_as_it_was(here: World) -> None:
    await here.create("c")
    async with operator(config(here.namespace, here.kubeconfig), here.dialer):
        before = await here.until("c", lambda status: is_true(status.conditions, "Ready"))
        pods, _ = await here.children("c")
        empty = {"metadata": {"name": "c"}, "spec": {"size": 3}, "status": {"phase": "", "conditions": []}}
        live = await here.api.get(ETCD_CLUSTERS, here.namespace, "c")
        empty["metadata"]["resourceVersion"] = live.metadata.resource_version  # type: ignore[index]
        await here.api.replace(ETCD_CLUSTERS, empty, namespace=here.namespace, subresource="status")

        after = await here.until(
            "c", lambda status: is_true(status.conditions, "Ready") and status.journal.latch is not None
        )

        kept, _ = await here.children("c")
    assert after.cluster_id == before.cluster_id
    assert after.journal.latch is not None
    assert before.journal.latch is not None
    assert after.journal.latch.members == before.journal.latch.members
    assert {pod.metadata.uid for pod in kept} == {pod.metadata.uid for pod in pods}


async def test_a_pod_whose_labels_were_taken_off_gets_them_back_and_is_not_replaced(here: World) -> None:
    await here.create("c")
    async with operator(config(here.namespace, here.kubeconfig), here.dialer):
        await here.until("c", lambda status: is_true(status.conditions, "Ready"))
        pods, _ = await here.children("c")
        stripped = {"metadata": {"labels": {"app": None, "etcd_cluster": None}}}
        await here.api.patch(PODS, here.namespace, pods[0].metadata.name, stripped)

        await here.kubelet.pods.saw_gone(pods[0].metadata.key, pods[0].metadata.uid)
        back = asyncio.Event()

        def look(_old: Pod | None, new: Pod | None) -> None:
            if new is not None and new.metadata.uid == pods[0].metadata.uid:
                back.set()

        here.kubelet.pods.subscribe(look)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await back.wait()
        kept, _ = await here.children("c")
    assert {pod.metadata.uid for pod in kept} == {pod.metadata.uid for pod in pods}
