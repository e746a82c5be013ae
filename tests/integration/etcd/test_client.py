"""The client against real etcd of each minor: what is asked, what is answered, what is refused."""

from __future__ import annotations

import pytest

from app.etcd.errors import (
    AlreadyExists,
    IdentityMismatch,
    LearnerRefuses,
    MemberNotFound,
    NotLeader,
    TooManyLearners,
    Unhealthy,
)
from app.etcd.version import parse
from tests.integration.etcd.local import DEADLINE, LocalCluster, eventually

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
