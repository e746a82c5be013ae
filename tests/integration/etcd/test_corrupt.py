"""The CORRUPT alarm of real members: what it does, where it is told, and how it is got rid of."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from aetcd.rpc import MaintenanceStub
from aetcd.rpc import rpc_pb2 as pb

from app.etcd.channel import open_channel
from app.etcd.errors import Corrupt
from app.etcd.model import Alarm, AlarmType
from tests.integration.etcd.local import DEADLINE, LocalCluster, eventually, on_each

pytestmark = pytest.mark.integration


async def raise_alarm(cluster: LocalCluster, name: str, alarm: Alarm) -> None:
    """Do what etcd does when a member's hash differs from the majority's."""
    channel = open_channel(cluster.members[name].endpoint)
    try:
        request = pb.AlarmRequest(
            action=pb.AlarmRequest.ACTIVATE, memberID=alarm.member_id, alarm=alarm.type.value
        )
        await MaintenanceStub(channel).Alarm(request, timeout=DEADLINE)
    finally:
        await channel.close()


async def test_B11_the_alarm_names_its_member_and_outlives_it_until_it_is_put_off(
    clusters: list[LocalCluster],
) -> None:
    async def body(cluster: LocalCluster) -> None:
        ids = await cluster.found(3)
        leader = await cluster.leader()
        bad = next(name for name in cluster.members if name != leader)
        alarm = Alarm(ids.member_ids[bad], AlarmType.CORRUPT)
        await raise_alarm(cluster, leader, alarm)
        for name in cluster.members:
            told = await eventually(partial(cluster.status, name), lambda status: bool(status.alarms))
            assert told.alarms == (alarm,)
        async with cluster.confirmed(leader) as client:
            with pytest.raises(Corrupt):
                await client.put(b"k", b"v", deadline=DEADLINE)
            await eventually(lambda: client.member_remove(alarm.member_id, deadline=DEADLINE))
            assert (await client.status(deadline=DEADLINE)).alarms == (alarm,), "it is on after its member"
            with pytest.raises(Corrupt):
                await client.put(b"k", b"v", deadline=DEADLINE)
            await client.disarm(alarm, deadline=DEADLINE)
            assert (await client.status(deadline=DEADLINE)).alarms == ()
            await client.put(b"k", b"v", deadline=DEADLINE)

    async with asyncio.timeout(120):
        await on_each(clusters, body)
