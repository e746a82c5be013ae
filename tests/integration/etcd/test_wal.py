"""The logs that real members write, as the reader of a recovery sees them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from typing import TYPE_CHECKING

import pytest

from app.etcd import wal
from app.etcd.errors import EtcdError
from app.etcd.wal import Amendment, Log, Tail, WalError, commit_all, read
from app.wal_commands import inspect
from tests.integration.etcd.local import DEADLINE, TOKEN, LocalCluster

if TYPE_CHECKING:
    from pathlib import Path

    from app.etcd.client import Client

pytestmark = pytest.mark.integration


def folder(cluster: LocalCluster, name: str) -> Path:
    return cluster.members[name].folder / "data" / "member" / "wal"


def contents(cluster: LocalCluster, name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder(cluster, name).glob("*.wal"))]


def log(cluster: LocalCluster, name: str) -> Log:
    return read(contents(cluster, name))


def end(content: bytes) -> int:
    """Where what was written ends: the file is allocated as zeros."""
    return len(content.rstrip(b"\0"))


async def test_it_reaches_as_far_as_the_member_said(cluster: LocalCluster) -> None:
    ids = await cluster.found(1)
    cluster.settings = {}
    async with cluster.client("m0") as client:
        for number in range(40):
            await client.put(b"k", b"v" * number, deadline=DEADLINE)
        status = await client.status(deadline=DEADLINE)
    cluster.members["m0"].stop(signal.SIGKILL)

    found = log(cluster, "m0")
    assert (found.cluster_id, found.member_id) == (ids.cluster_id, ids.member_ids["m0"])
    assert (found.term, found.index, found.tail) == (status.raft_term, status.raft_index, Tail.CLEAN)
    assert found.commit <= found.index
    told = json.loads(inspect(folder(cluster, "m0")))
    assert told["clusterID"] == f"{ids.cluster_id:x}"
    assert told["index"] == status.raft_index


async def test_a_broken_end_is_told_from_a_torn_one(cluster: LocalCluster) -> None:
    await cluster.found(1)
    async with cluster.client("m0") as client:
        for _ in range(3):
            await client.put(b"k", b"v" * 2000, deadline=DEADLINE)
    cluster.members["m0"].stop(signal.SIGKILL)
    whole = log(cluster, "m0")
    *before, last = contents(cluster, "m0")
    length = end(last)

    # The last sectors of the last record never reached the disk.
    torn = read([*before, last[: length - 1200] + bytes(len(last) - length + 1200)])
    assert (torn.index, torn.tail) == (whole.index - 1, Tail.TORN)
    flipped = bytearray(last)
    flipped[length - 1200] ^= 1
    assert read([*before, bytes(flipped)]).tail is Tail.DAMAGED
    with pytest.raises(WalError):
        commit_all([*before, bytes(flipped)])
    junk = b"\xff" * 700
    damaged = read([*before, last[: length + 16] + junk + last[length + 16 + len(junk) :]])
    assert damaged.tail in {Tail.DAMAGED, Tail.CLEAN}


async def test_all_of_a_log_can_be_committed_even_with_a_torn_end(cluster: LocalCluster) -> None:
    await cluster.found(1)
    async with cluster.client("m0") as client:
        await client.put(b"k", b"v", deadline=DEADLINE)
    cluster.members["m0"].stop(signal.SIGKILL)
    *before, last = contents(cluster, "m0")
    # As it is after a power failure: what follows its last entry was not on the disk yet.
    entry = next(record for record in reversed(wal._split(last)[0]) if record.type == wal._ENTRY)
    last = last[: entry.end] + bytes(len(last) - entry.end)
    whole = read([*before, last])
    assert whole.commit < whole.index
    first = commit_all([*before, last])
    assert first is not None

    begun = (2000).to_bytes(8, "little") + b"\x08\x02\x10\x05\x1a" + b"\x01" * 300
    torn = write(last, Amendment(first.offset, begun))
    assert read([*before, torn]).tail is Tail.TORN
    second = commit_all([*before, torn])
    assert second is not None
    mended = [*before, write(torn, second)]
    found = read(mended)
    assert (found.term, found.index, found.commit) == (whole.term, whole.index, whole.index)
    assert found.tail is Tail.CLEAN
    assert commit_all(mended) is None
    assert end(mended[-1]) == end(write(last, first)), "nothing is left of what was torn"


def write(content: bytes, amendment: Amendment) -> bytes:
    return content[: amendment.offset] + amendment.data + content[amendment.offset + len(amendment.data) :]


async def test_the_last_log_is_not_the_longest(cluster: LocalCluster) -> None:
    """A leader that lost its followers goes on writing what is never committed."""
    await cluster.found(3)
    leader = await cluster.leader()
    followers = [name for name in cluster.members if name != leader]
    for name in followers:
        cluster.members[name].stop(signal.SIGKILL)
    async with cluster.client(leader) as client:
        await asyncio.gather(*(_lost_write(client, number) for number in range(60)))
    cluster.members[leader].stop(signal.SIGKILL)
    urls = {name: member.peer_url for name, member in cluster.members.items()}
    for name in followers:
        cluster.members[name].start(cluster=urls, token=TOKEN)
    for name in followers:
        await cluster.serving(name)
    for name in followers:
        cluster.members[name].stop(signal.SIGKILL)

    alone = log(cluster, leader)
    others = [log(cluster, name) for name in followers]
    assert all(other.index < alone.index for other in others)
    assert all((other.term, other.index) > (alone.term, alone.index) for other in others)


async def _lost_write(client: Client, number: int) -> None:
    with contextlib.suppress(EtcdError):
        await client.put(b"lost", str(number).encode(), deadline=0.5)
