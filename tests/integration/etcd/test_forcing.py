"""What a recovery asks of etcd: to forget all other members, once, and to start as ever afterwards."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from app.wal_commands import commit, inspect
from tests.integration.etcd.local import DEADLINE, TOKEN, LocalCluster, eventually

if TYPE_CHECKING:
    from app.etcd.model import MemberList

pytestmark = pytest.mark.integration

FORCE = "--force-new-cluster"
OTHERS = {"nobody": "http://nobody.invalid:2380"}
"""The list of a cluster of one without that one, as its Pod's annotations have it."""


def stop_all(cluster: LocalCluster, how: signal.Signals = signal.SIGKILL) -> None:
    for process in cluster.members.values():
        process.stop(how)


def start(cluster: LocalCluster, name: str, *, force: bool) -> None:
    member = cluster.members[name]
    member.extra = (FORCE,) if force else ()
    member.start(cluster=OTHERS, state="existing", token=TOKEN)


async def alone(cluster: LocalCluster, name: str) -> MemberList:
    """Wait until a member leads a cluster that has no other."""
    await eventually(lambda: cluster.status(name), lambda status: status.is_leader)
    return await eventually(lambda: cluster.listed(name), lambda listed: len(listed.members) == 1)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_forced_member_keeps_its_data_and_ids_and_starts_as_ever_afterwards(
    cluster: LocalCluster, how: signal.Signals
) -> None:
    """Killed, it has not written down that its last entry is committed, and would drop it."""
    ids = await cluster.found(3)
    async with cluster.client("m1") as client:
        written = await client.put(b"kept", b"yes", deadline=DEADLINE)
    await eventually(lambda: cluster.status("m0"), lambda status: status.header.revision >= written.revision)
    stop_all(cluster, how)
    wal = cluster.members["m0"].folder / "data" / "member" / "wal"
    commit(wal)
    after = json.loads(inspect(wal))
    assert after["commit"] == after["index"]
    assert after["tail"] == "clean"

    for force in (True, False):
        start(cluster, "m0", force=force)
        listed = await alone(cluster, "m0")
        assert listed.header.cluster_id == ids.cluster_id
        assert [member.id for member in listed.members] == [ids.member_ids["m0"]]
        async with cluster.client("m0") as client:
            assert (await client.get(b"kept", deadline=DEADLINE)).value == b"yes"
        stop_all(cluster)
