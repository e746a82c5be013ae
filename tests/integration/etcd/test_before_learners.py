"""etcd 3.3, which knows no learners: what the rules for versions before 3.4 rest on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from app.etcd.probe import MetricsPort
from tests.integration.etcd.local import DEADLINE, TOKEN, LocalCluster, eventually
from tests.integration.etcd.processes import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from app.etcd.client import Dialer
    from app.etcd.model import MemberAdded

pytestmark = pytest.mark.integration


@pytest.fixture
def old(tmp_path: Path, dialer: Dialer) -> Iterator[LocalCluster]:
    cluster = LocalCluster("3.3.27", tmp_path, dialer)
    yield cluster
    cluster.close()


async def add(cluster: LocalCluster, name: str, *, learner: bool) -> MemberAdded:
    """Add a member that does not run yet."""
    process = cluster.members.get(name) or cluster.make(name)
    async with cluster.confirmed("m0") as client:
        return await client.member_add([process.peer_url], learner=learner, deadline=DEADLINE)


def join(cluster: LocalCluster, name: str) -> None:
    urls = {each: process.peer_url for each, process in cluster.members.items()}
    cluster.members[name].start(cluster=urls, state="existing")


async def test_a_learner_is_taken_for_a_voter_in_silence(old: LocalCluster) -> None:
    await old.found(1)
    added = await add(old, "m1", learner=True)
    assert not added.member.is_learner
    join(old, "m1")
    await old.serving("m1")
    assert [member.is_learner for member in (await old.listed("m0")).members] == [False, False]


async def test_X19_a_voter_that_is_not_started_costs_one_member_its_quorum_until_it_starts(
    old: LocalCluster,
) -> None:
    """The hazard of growing from one to two without learners; the cure is to start it, not to wait."""
    await old.found(1)
    async with old.client("m0") as client:
        await client.put(b"k", b"v", deadline=DEADLINE)
    await add(old, "m1", learner=False)
    await eventually(lambda: old.status("m0"), lambda status: status.leader == 0)
    async with old.client("m0") as client:
        assert len((await client.member_list(linearizable=False, deadline=DEADLINE)).members) == 2
    join(old, "m1")
    await old.serving("m1")
    async with old.client("m1") as client:
        assert (await client.get(b"k", deadline=DEADLINE)).value == b"v"


async def test_its_health_is_told_the_old_way_alone(old: LocalCluster) -> None:
    await old.found(1)
    process = old.members["m0"]
    metrics = MetricsPort(LOOPBACK, port=process.metrics_port)
    assert (await metrics.livez(deadline=DEADLINE)).status == 404
    assert (await metrics.readyz(deadline=DEADLINE)).status == 404
    await eventually(partial(metrics.health, deadline=DEADLINE), lambda answer: answer.ok)
    status = await old.status("m0")
    assert status.version == "3.3.27"
    assert status.raft_applied_index == 0  # it came with 3.4
    assert status.raft_index > 0


async def test_X2_X9_a_wiped_member_exits_under_both_states(old: LocalCluster) -> None:
    """With ``existing`` and a list without itself it finds nothing to be; with ``new`` its peers know it."""
    await old.found(3)
    urls = {name: process.peer_url for name, process in old.members.items()}
    process = old.members["m2"]
    process.stop()
    process.wipe()
    others = {name: url for name, url in urls.items() if name != "m2"}
    process.start(cluster=others, state="existing", token=TOKEN)
    assert await process.exited(within=DEADLINE) == 1
    assert "couldn't find local name" in process.log
    process.wipe()
    process.start(cluster=urls, token=TOKEN)
    assert await process.exited(within=DEADLINE) == 1
    assert "has already been bootstrapped" in process.log
