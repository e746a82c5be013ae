"""A member that etcd finds corrupt, with models of etcd behind a real API server."""

import pytest

from app.etcd.fake import calls
from app.etcd.model import Alarm, AlarmType
from app.kube.resources import PODS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import settled
from tests.integration.operator.watching import watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration


async def test_B11_the_corrupt_member_is_replaced_and_the_alarm_is_put_off(here: World) -> None:
    await here.create("c")
    settings = config(here.namespace, here.kubeconfig)
    async with watching(here, PODS) as pods, operator(settings, here.dialer):
        before = await here.until("c", settled(3))
        leader = here.model.processes[before.leader]
        bad = next(name for name in pods.now() if name != before.leader)
        alarm = Alarm(here.model.processes[bad].held.member_id, AlarmType.CORRUPT)
        calls.set_alarm(here.model, leader, alarm, on=True)

        await pods.until(lambda now: bad not in now and len(now) == 3)
        after = await here.until("c", settled(3))

        assert not here.model.committed(leader).alarms
        assert after.cluster_id == before.cluster_id
        assert len(set(before.members.ready) & set(after.members.ready)) == 2
