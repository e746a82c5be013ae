"""The client against real etcd of each minor: what is asked, what is answered, what is refused."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

import pytest
from aetcd.rpc import AuthStub
from aetcd.rpc import rpc_pb2 as pb

from app.etcd.channel import open_channel
from app.etcd.errors import (
    AlreadyExists,
    AuthRequired,
    Compacted,
    DowngradeRefused,
    FutureRevision,
    IdentityMismatch,
    LearnerRefuses,
    MemberNotFound,
    NotLeader,
    TooManyLearners,
    Unhealthy,
    Unsupported,
)
from app.etcd.model import DowngradeAction
from app.etcd.probe import MetricsPort, PeerPort
from app.etcd.version import parse
from tests.integration.etcd.local import DEADLINE, LocalCluster, eventually
from tests.integration.etcd.processes import LOOPBACK

if TYPE_CHECKING:
    import aiohttp

pytestmark = pytest.mark.integration


async def test_the_ids_of_a_static_bootstrap_are_those_computed_beforehand(cluster: LocalCluster) -> None:
    expected = await cluster.found(3)
    for name, member_id in expected.member_ids.items():
        header = (await cluster.status(name)).header
        assert (header.cluster_id, header.member_id) == (expected.cluster_id, member_id)
    listed = await cluster.listed("m0")
    assert {member.name: member.id for member in listed.members} == expected.member_ids
    assert listed.header.cluster_id == expected.cluster_id


async def test_status_tells_what_the_version_can_tell(cluster: LocalCluster) -> None:
    await cluster.found(1)
    status = await cluster.status("m0")
    assert status.version == cluster.version
    assert status.is_leader
    assert not status.is_learner
    assert status.raft_index >= status.raft_applied_index > 0
    assert status.raft_term > 0
    assert status.db_size >= status.db_size_in_use > 0
    series = parse(cluster.version).series
    assert status.storage_version == (f"{series[0]}.{series[1]}.0" if series >= (3, 6) else "")
    assert (status.db_size_quota > 0) == (series >= (3, 6))
    assert not status.downgrade_enabled


async def test_a_learner_joins_is_promoted_leads_and_is_removed(cluster: LocalCluster) -> None:
    await cluster.found(1)
    newcomer = cluster.make("m1")
    async with cluster.confirmed("m0") as client:
        added = await client.member_add([newcomer.peer_url], deadline=DEADLINE)
        assert added.member.is_learner
        assert not added.member.started
        assert {member.id for member in added.members} > {added.member.id}
        with pytest.raises(AlreadyExists):
            await client.member_add([newcomer.peer_url], deadline=DEADLINE)
        with pytest.raises((TooManyLearners, Unhealthy)):
            await client.member_add(["http://127.0.0.1:1"], deadline=DEADLINE)

        known = {"m0": cluster.members["m0"].peer_url, "m1": newcomer.peer_url}
        newcomer.start(cluster=known, state="existing")
        joined = await cluster.serving("m1")
        assert joined.is_learner
        async with cluster.client("m1") as learner:
            with pytest.raises(LearnerRefuses):
                await learner.member_list(deadline=DEADLINE)

        promoted = await eventually(lambda: client.member_promote(added.member.id, deadline=DEADLINE))
        assert len(promoted.voters) == 2
        await eventually(lambda: cluster.listed("m1"), lambda listed: not listed.learners)

        await client.move_leader(added.member.id, deadline=DEADLINE)
        await eventually(lambda: cluster.status("m1"), lambda status: status.is_leader)
        with pytest.raises(NotLeader):
            await client.move_leader(added.member.id, deadline=DEADLINE)

        async with cluster.confirmed("m1") as leader:
            own = promoted.by_peer_url(cluster.members["m0"].peer_url)
            assert own is not None
            remaining = await eventually(lambda: leader.member_remove(own.id, deadline=DEADLINE))
            assert [member.name for member in remaining.members] == ["m1"]
            with pytest.raises(MemberNotFound):
                await leader.member_remove(own.id, deadline=DEADLINE)


async def test_keys_leases_hashes_and_snapshots(cluster: LocalCluster) -> None:
    await cluster.found(1)
    async with cluster.client("m0") as client:
        first = await client.put(b"k", b"v", deadline=DEADLINE)
        found = await client.get(b"k", deadline=DEADLINE)
        assert (found.value, found.mod_revision) == (b"v", first.revision)
        lease = await client.lease_grant(60, deadline=DEADLINE)
        assert lease.ttl_seconds >= 60
        await client.put(b"leased", b"v", lease=lease.id, deadline=DEADLINE)
        await client.lease_revoke(lease.id, deadline=DEADLINE)
        assert (await client.get(b"leased", deadline=DEADLINE)).value is None
        last = await client.delete(b"k", deadline=DEADLINE)
        assert last.revision == first.revision + 3

        hashed = await client.hash_kv(deadline=DEADLINE)
        with_revision = parse(cluster.version) >= (3, 6)
        assert hashed.hash_revision == (last.revision if with_revision else 0)
        assert (await client.hash_kv(last.revision, deadline=DEADLINE)).hash == hashed.hash
        with pytest.raises(FutureRevision):
            await client.hash_kv(last.revision + 1, deadline=DEADLINE)
        await client.compact(last.revision, deadline=DEADLINE)
        with pytest.raises(Compacted):
            await client.compact(first.revision, deadline=DEADLINE)

        chunks = [chunk async for chunk in client.snapshot(deadline=DEADLINE)]
        content = b"".join(chunk.blob for chunk in chunks)
        assert hashlib.sha256(content[:-32]).digest() == content[-32:]
        assert {chunk.version != "" for chunk in chunks} == {with_revision}


async def test_a_downgrade_is_validated_where_there_is_one(cluster: LocalCluster) -> None:
    await cluster.found(1)
    major, minor = parse(cluster.version).series
    validate = DowngradeAction.VALIDATE
    async with cluster.client("m0") as client:
        ask = partial(client.downgrade, validate, f"{major}.{minor - 1}.0", deadline=DEADLINE)
        if (major, minor) < (3, 5):
            with pytest.raises(Unsupported):
                await ask()
        else:
            assert parse(await eventually(ask)).series == (major, minor)
            with pytest.raises(DowngradeRefused):
                await client.downgrade(validate, f"{major}.{minor - 2}.0", deadline=DEADLINE)


async def test_with_authentication_on_only_the_other_ports_tell_of_the_member(
    cluster: LocalCluster, session: aiohttp.ClientSession
) -> None:
    """The latest patches want a user for Status, alarms and the list too, 3.4 for keys and changes."""
    ids = await cluster.found(1)
    process = cluster.members["m0"]
    channel = open_channel(process.endpoint)
    auth = AuthStub(channel)
    await auth.UserAdd(pb.AuthUserAddRequest(name="root", password="pw"), timeout=DEADLINE)
    await auth.RoleAdd(pb.AuthRoleAddRequest(name="root"), timeout=DEADLINE)
    await auth.UserGrantRole(pb.AuthUserGrantRoleRequest(user="root", role="root"), timeout=DEADLINE)
    async with cluster.confirmed("m0") as client:
        await auth.AuthEnable(pb.AuthEnableRequest(), timeout=DEADLINE)
        await channel.close()
        for call in (
            partial(client.get, b"k"),
            partial(client.put, b"k", b"v"),
            partial(client.member_add, ["http://127.0.0.1:1"]),
        ):
            with pytest.raises(AuthRequired):
                await call(deadline=DEADLINE)
        for question in (client.status, client.alarms, client.member_list):
            if parse(cluster.version) < (3, 5) and question != client.member_list:
                await question(deadline=DEADLINE)
            else:
                with pytest.raises(AuthRequired):
                    await question(deadline=DEADLINE)
    assert (await MetricsPort(LOOPBACK, port=process.metrics_port).health(deadline=DEADLINE)).ok
    peers = PeerPort(session, LOOPBACK, port=process.peer_port)
    assert (await peers.members(deadline=DEADLINE)).cluster_id == ids.cluster_id


async def test_a_change_needs_a_confirmed_identity(cluster: LocalCluster) -> None:
    await cluster.found(1)
    async with cluster.client("m0") as client:
        header = (await client.status(deadline=DEADLINE)).header
        with pytest.raises(IdentityMismatch, match="confirmed"):
            await client.member_add(["http://127.0.0.1:1"], deadline=DEADLINE)
        for cluster_id, member_id in (
            (header.cluster_id + 1, header.member_id),
            (header.cluster_id, header.member_id + 1),
        ):
            with pytest.raises(IdentityMismatch, match="expected"):
                await client.expect(cluster_id=cluster_id, member_id=member_id, deadline=DEADLINE)
            with pytest.raises(IdentityMismatch, match="confirmed"):
                await client.member_add(["http://127.0.0.1:1"], deadline=DEADLINE)
        await client.expect(cluster_id=header.cluster_id, member_id=None, deadline=DEADLINE)
        await client.member_add(["http://127.0.0.1:1"], deadline=DEADLINE)
