"""The operator is killed at every call of a bootstrap, before it is sent and after it was carried out."""

import asyncio

import pytest

from app.kube.transport import Stage
from tests.integration.operator.running import CrashAt, config, operator
from tests.integration.operator.test_scaling import settled
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration

CLAIM = {"resources": {"requests": {"storage": "1Gi"}}}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("stage", ["before", "after"])
async def test_I1_killed_at_each_call_of_a_bootstrap_it_converges(here: World, stage: Stage) -> None:
    number = 0
    while await _killed_at(here, stage, number):
        number += 1
    # A record, two Services, three claims, three Pods and the latch are the least that is written.
    assert number > 10


async def _killed_at(here: World, stage: Stage, number: int) -> bool:
    """Kill the operator at a call and let another finish; False when there is no such call any more."""
    name = f"at-{number}"
    settings = config(here.namespace, here.kubeconfig)
    made = await here.create(name, pod={"persistentVolumeClaimSpec": CLAIM})
    crash = CrashAt(number, stage)
    async with operator(settings, here.dialer, crash) as first:
        formed = asyncio.create_task(here.available(name))
        await asyncio.wait([first, formed], return_when=asyncio.FIRST_COMPLETED)
        if not crash.dead.is_set():
            await formed
            return False
        formed.cancel()
        await asyncio.wait([first, formed])
    assert first.exception() is not None
    await here.expire_lease()
    async with operator(settings, here.dialer):
        # A founder that had not started when the others served is replaced, which takes a while.
        status = await here.until(name, settled(3))
    pods, services = await here.children(name)
    assert {pod.metadata.name for pod in pods} == set(status.members.ready)
    assert {service.metadata.name for service in services} == {name, f"{name}-client"}
    assert all(pod.metadata.owner_references[0].uid == made.metadata.uid for pod in pods)
    assert {here.model.processes[pod.metadata.name].held.cluster_id for pod in pods} == {
        int(status.cluster_id, 16)
    }
    await here.delete(name)
    return True
