"""What real members do when something is wrong, and how the client tells it."""

from __future__ import annotations

import asyncio
import signal
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from app.etcd.endpoint import Endpoint
from app.etcd.errors import (
    ConnectionLost,
    DeadlineExceeded,
    IdentityMismatch,
    LeaderChanged,
    NoSpace,
    Unhealthy,
    Unreachable,
)
from app.etcd.model import AlarmType
from app.etcd.probe import MetricsPort, PeerPort
from app.etcd.version import parse
from tests.integration.etcd.local import DEADLINE, PATIENCE, TOKEN, LocalCluster, eventually, on_each
from tests.integration.etcd.processes import LOOPBACK, free_ports

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import aiohttp

    from app.etcd.client import Client, Dialer

pytestmark = pytest.mark.integration

SHORT = 1.0  # seconds for a call that is expected to hang


async def test_without_a_quorum_every_call_ends_at_its_deadline(
    clusters: list[LocalCluster], session: aiohttp.ClientSession
) -> None:
    async def body(cluster: LocalCluster) -> None:
        ids = await cluster.found(3)
        for name in ("m1", "m2"):
            cluster.members[name].stop(signal.SIGKILL)
        await eventually(lambda: cluster.status("m0"), lambda status: status.leader == 0)
        async with cluster.client("m0") as client:
            await client.expect(cluster_id=ids.cluster_id, member_id=ids.member_ids["m0"], deadline=DEADLINE)
            calls: list[Callable[..., Awaitable[object]]] = [
                client.member_list,
                partial(client.member_remove, ids.member_ids["m1"]),
                partial(client.get, b"k"),
                partial(client.put, b"k", b"v"),
            ]
            await asyncio.gather(*(_hangs(call) for call in calls))
            stale = await client.member_list(linearizable=False, deadline=DEADLINE)
            assert len(stale.members) == 3
            assert (await client.get(b"k", serializable=True, deadline=DEADLINE)).value is None
        process = cluster.members["m0"]
        peers = PeerPort(session, LOOPBACK, port=process.peer_port)
        assert (await peers.version(deadline=DEADLINE)).server == cluster.version
        listed = await peers.members(deadline=DEADLINE)
        assert listed.cluster_id == ids.cluster_id
        assert {member.name: member.id for member in listed.members} == ids.member_ids
        metrics = MetricsPort(LOOPBACK, port=process.metrics_port)
        assert not (await metrics.health(deadline=PATIENCE)).ok

    await on_each(clusters, body)


async def _hangs(call: Callable[..., Awaitable[object]]) -> None:
    """The call ends by our deadline, long before etcd would give up on it (7 s).

    Until a member knows that its peers are gone, it may refuse, or tell of the leader that it has just lost.
    """
    async with asyncio.timeout(PATIENCE):
        while True:
            before = time.monotonic()
            try:
                await call(deadline=SHORT)
            except DeadlineExceeded as error:
                _ended_in_time(error, time.monotonic() - before)
                return
            except (Unhealthy, LeaderChanged):
                await asyncio.sleep(0.05)
            else:
                pytest.fail("It was answered without a quorum")


def _ended_in_time(error: DeadlineExceeded, seconds: float) -> None:
    assert error.outcome_unknown
    assert seconds < DEADLINE


async def test_before_it_has_joined_only_the_metrics_port_of_a_member_answers(
    clusters: list[LocalCluster],
) -> None:
    async def body(cluster: LocalCluster) -> None:
        for name in ("m0", "m1", "m2"):
            cluster.make(name)
        urls = {name: process.peer_url for name, process in cluster.members.items()}
        process = cluster.members["m0"].start(cluster=urls, token=TOKEN)
        metrics = MetricsPort(LOOPBACK, port=process.metrics_port)
        alive = await eventually(lambda: metrics.livez(deadline=DEADLINE))
        has_livez = parse(cluster.version) >= (3, 4, 29)
        assert alive.status == (200 if has_livez else 404)
        async with cluster.client("m0") as client:
            ready, healthy, _ = await asyncio.gather(
                metrics.readyz(deadline=PATIENCE), metrics.health(deadline=PATIENCE), _hangs(client.status)
            )
        assert ready.status == (503 if has_livez else 404)
        assert healthy.status == 503
        cluster.members["m1"].start(cluster=urls, token=TOKEN)
        await cluster.serving("m0")
        await eventually(lambda: metrics.health(deadline=DEADLINE), lambda answer: answer.ok)
        names = {"etcd_server_has_leader", "etcd_server_is_leader", "etcd_server_health_success"}
        found = await metrics.metrics(names, deadline=DEADLINE)
        assert found["etcd_server_has_leader"] == 1
        assert set(found) <= names

    await on_each(clusters, body)


async def test_x18_a_dead_member_is_removed_before_another_is_added(clusters: list[LocalCluster]) -> None:
    async def body(cluster: LocalCluster) -> None:
        ids = await cluster.found(3)
        await eventually(lambda: _add_and_remove(cluster))
        cluster.members["m2"].stop(signal.SIGKILL)
        await cluster.serving("m0")
        await eventually(lambda: _is_refused(cluster), bool)
        async with cluster.confirmed("m0") as client:
            await eventually(lambda: client.member_remove(ids.member_ids["m2"], deadline=DEADLINE))
            added = await eventually(lambda: client.member_add(["http://127.0.0.1:1"], deadline=DEADLINE))
            assert added.member.is_learner

    await on_each(clusters, body)


async def _add_and_remove(cluster: LocalCluster) -> None:
    """Succeeds once the members have been connected for the five seconds that etcd demands."""
    async with cluster.confirmed("m0") as client:
        added = await client.member_add(["http://127.0.0.1:2"], deadline=DEADLINE)
        await client.member_remove(added.member.id, deadline=DEADLINE)


async def _is_refused(cluster: LocalCluster) -> bool:
    """Whether an add is refused; until the members know that one of them is gone, it may be taken."""
    try:
        await _add_and_remove(cluster)
    except Unhealthy:
        return True
    return False


async def _fill(client: Client) -> int:
    """Write until the quota is reached; returns the last revision."""
    revision = 0
    with pytest.raises(NoSpace):  # noqa: PT012 - which of the writes it will be is not known
        while True:
            revision = (await client.put(b"k", bytes(100_000), deadline=DEADLINE)).revision
    return revision


async def test_nospace_is_told_and_disarmed_after_compaction_and_defragmentation(
    cluster: LocalCluster,
) -> None:
    cluster.settings = {"quota-backend-bytes": str(2 * 1024 * 1024)}
    await cluster.found(1)
    async with cluster.client("m0") as client:
        revision = await _fill(client)
        alarms = await client.alarms(deadline=DEADLINE)
        assert [alarm.type for alarm in alarms.alarms] == [AlarmType.NOSPACE]
        before = await client.status(deadline=DEADLINE)
        assert any("NOSPACE" in error for error in before.errors)
        await client.compact(revision, deadline=DEADLINE)
        await client.defragment(deadline=DEADLINE)
        assert (await client.status(deadline=DEADLINE)).db_size < before.db_size
        await client.disarm(alarms.alarms[0], deadline=DEADLINE)
        assert (await client.alarms(deadline=DEADLINE)).alarms == ()
        await client.put(b"k", b"v", deadline=DEADLINE)


async def test_nobody_there_is_unreachable_and_a_frozen_member_is_not(
    cluster: LocalCluster, dialer: Dialer
) -> None:
    (nobody,) = free_ports(1)
    async with dialer.dial(Endpoint(LOOPBACK, nobody)) as client:
        with pytest.raises(Unreachable) as refused:
            await client.status(deadline=DEADLINE)
        assert not refused.value.outcome_unknown
    with pytest.raises(Unreachable):
        await MetricsPort(LOOPBACK, port=nobody).livez(deadline=DEADLINE)
    await cluster.found(1)
    process = cluster.members["m0"]
    async with cluster.client("m0") as client:
        await client.status(deadline=DEADLINE)
        process.freeze()
        with pytest.raises(DeadlineExceeded):
            await client.status(deadline=SHORT)
        with pytest.raises(DeadlineExceeded):
            await MetricsPort(LOOPBACK, port=process.metrics_port).livez(deadline=SHORT)
        process.thaw()
        await eventually(lambda: client.status(deadline=DEADLINE))


async def test_a_reused_address_is_noticed_before_a_change_is_sent(cluster: LocalCluster) -> None:
    """The member dies and another cluster's appears at its address, on a connection that was confirmed."""
    ids = await cluster.found(1)
    old = cluster.members["m0"]
    async with cluster.client("m0") as client:
        await client.expect(cluster_id=ids.cluster_id, member_id=None, deadline=DEADLINE)
        old.stop()
        old.wipe()
        old.start(cluster={"m0": old.peer_url}, token="another")
        other = await cluster.serving("m0")
        assert other.header.cluster_id != ids.cluster_id
        with pytest.raises((IdentityMismatch, ConnectionLost)):
            await client.member_add(["http://127.0.0.1:1"], deadline=DEADLINE)
        assert len((await cluster.listed("m0")).members) == 1
