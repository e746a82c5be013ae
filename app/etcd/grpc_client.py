"""The client over gRPC, with the stubs of the ``aetcd`` package.

A ``GrpcClient`` is a thin view of a channel that it does not own. It remembers whom ``expect`` confirmed, and
confirms it anew right before each change of the membership: a channel reconnects by itself, at the call of
anybody who shares it, and a Pod's address may have gone to another cluster's member by then.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio
from aetcd.rpc import rpc_pb2 as pb
from aetcd.rpc import rpc_pb2_grpc as stubs

from app.etcd import messages
from app.etcd.errors import ConnectionLost, DeadlineExceeded, IdentityMismatch, Unreachable
from app.etcd.identity import text
from app.etcd.model import (
    Alarm,
    Alarms,
    AlarmType,
    DowngradeAction,
    HashKV,
    Header,
    Lease,
    MemberAdded,
    MemberList,
    SnapshotChunk,
    Status,
    Value,
)
from app.etcd.translate import translate
from app.etcd.version import Version, parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

_FIRST_WITH_LINEARIZABLE_LIST: Final = (3, 5)
_SAME_MOMENT_SECONDS: Final = 0.05


class GrpcClient:
    """``app.etcd.client.Client`` over one channel; ``target`` names the member in errors."""

    def __init__(self, channel: grpc.aio.Channel, target: str) -> None:
        self._channel = channel
        self._target = target
        self._expected: tuple[int, int | None] | None = None
        self._version: Version | None = None
        self._cluster = stubs.ClusterStub(channel)
        self._maintenance = stubs.MaintenanceStub(channel)
        self._kv = stubs.KVStub(channel)
        self._lease = stubs.LeaseStub(channel)

    async def status(self, *, deadline: float) -> Status:
        """Ask the member about itself."""
        answer = messages.status(await self._call(self._maintenance.Status, pb.StatusRequest(), deadline))
        self._version = parse(answer.version)
        return answer

    async def expect(self, *, cluster_id: int, member_id: int | None, deadline: float) -> Status:
        """Confirm by a Status whom this connection leads to."""
        self._expected = None
        answer = await self.status(deadline=deadline)
        found = answer.header
        if found.cluster_id != cluster_id or member_id not in (None, found.member_id):
            meant = "any member" if member_id is None else f"member {text(member_id)}"
            raise IdentityMismatch(
                f"{self._target}: member {text(found.member_id)} of cluster {text(found.cluster_id)} answers,"
                f" where {meant} of cluster {text(cluster_id)} was expected"
            )
        self._expected = (cluster_id, member_id)
        return answer

    async def member_list(self, *, linearizable: bool = True, deadline: float) -> MemberList:
        """List the membership.

        etcd before 3.5 answers from what the member knows, whatever was asked. There a linearizable read is
        made first: it returns when the member has applied all that was committed, membership included.
        """
        left = _Deadline(deadline)
        if linearizable:
            if self._version is None:
                await self.status(deadline=left.seconds())
            if self._version is not None and self._version < _FIRST_WITH_LINEARIZABLE_LIST:
                await self._call(self._kv.Range, pb.RangeRequest(key=b"\0", count_only=True), left.seconds())
        request = pb.MemberListRequest(linearizable=linearizable)
        return messages.member_list(await self._call(self._cluster.MemberList, request, left.seconds()))

    async def member_add(
        self, peer_urls: Sequence[str], *, learner: bool = True, deadline: float
    ) -> MemberAdded:
        """Add a member."""
        request = pb.MemberAddRequest(peerURLs=peer_urls, isLearner=learner)
        return messages.member_added(await self._change(self._cluster.MemberAdd, request, deadline))

    async def member_promote(self, member_id: int, *, deadline: float) -> MemberList:
        """Make a learner a voter; the member passes the call on to the leader."""
        request = pb.MemberPromoteRequest(ID=member_id)
        return messages.member_list(await self._change(self._cluster.MemberPromote, request, deadline))

    async def member_remove(self, member_id: int, *, deadline: float) -> MemberList:
        """Remove a member."""
        request = pb.MemberRemoveRequest(ID=member_id)
        return messages.member_list(await self._change(self._cluster.MemberRemove, request, deadline))

    async def member_update(self, member_id: int, peer_urls: Sequence[str], *, deadline: float) -> MemberList:
        """Change a voter's peer URLs."""
        request = pb.MemberUpdateRequest(ID=member_id, peerURLs=peer_urls)
        return messages.member_list(await self._change(self._cluster.MemberUpdate, request, deadline))

    async def move_leader(self, target_id: int, *, deadline: float) -> None:
        """Hand leadership over; returns when the target leads."""
        await self._change(self._maintenance.MoveLeader, pb.MoveLeaderRequest(targetID=target_id), deadline)

    async def alarms(self, *, deadline: float) -> Alarms:
        """List the alarms that are on."""
        request = pb.AlarmRequest(action=pb.AlarmRequest.GET)
        return messages.alarms(await self._call(self._maintenance.Alarm, request, deadline))

    async def disarm(self, alarm: Alarm, *, deadline: float) -> Alarms:
        """Put off one alarm; raises ValueError for a kind that we do not know."""
        if alarm.type is AlarmType.UNKNOWN:
            raise ValueError("an alarm of an unknown kind can't be disarmed")
        request = pb.AlarmRequest(
            action=pb.AlarmRequest.DEACTIVATE, memberID=alarm.member_id, alarm=alarm.type.value
        )
        return messages.alarms(await self._call(self._maintenance.Alarm, request, deadline))

    async def defragment(self, *, deadline: float) -> None:
        """Rewrite the member's file; etcd's answer has no header."""
        await self._call(self._maintenance.Defragment, pb.DefragmentRequest(), deadline)

    async def compact(self, revision: int, *, physical: bool = True, deadline: float) -> Header:
        """Drop the history before a revision."""
        request = pb.CompactionRequest(revision=revision, physical=physical)
        return messages.header((await self._call(self._kv.Compact, request, deadline)).header)

    async def hash_kv(self, revision: int = 0, *, deadline: float) -> HashKV:
        """Hash the member's keys."""
        request = pb.HashKVRequest(revision=revision)
        return messages.hash_kv(await self._call(self._maintenance.HashKV, request, deadline))

    async def get(self, key: bytes, *, serializable: bool = False, deadline: float) -> Value:
        """Read one key."""
        request = pb.RangeRequest(key=key, serializable=serializable)
        answer = await self._call(self._kv.Range, request, deadline)
        found = answer.kvs[0] if answer.kvs else None
        if found is None:
            return Value(messages.header(answer.header), None)
        return Value(messages.header(answer.header), found.value, found.mod_revision)

    async def put(self, key: bytes, value: bytes, *, lease: int = 0, deadline: float) -> Header:
        """Write one key."""
        request = pb.PutRequest(key=key, value=value, lease=lease)
        return messages.header((await self._call(self._kv.Put, request, deadline)).header)

    async def delete(self, key: bytes, *, deadline: float) -> Header:
        """Delete one key."""
        answer = await self._call(self._kv.DeleteRange, pb.DeleteRangeRequest(key=key), deadline)
        return messages.header(answer.header)

    async def lease_grant(self, ttl_seconds: int, *, deadline: float) -> Lease:
        """Grant a lease; etcd picks its id."""
        answer = await self._call(self._lease.LeaseGrant, pb.LeaseGrantRequest(TTL=ttl_seconds), deadline)
        return Lease(messages.header(answer.header), answer.ID, answer.TTL)

    async def lease_revoke(self, lease: int, *, deadline: float) -> Header:
        """Revoke a lease."""
        answer = await self._call(self._lease.LeaseRevoke, pb.LeaseRevokeRequest(ID=lease), deadline)
        return messages.header(answer.header)

    async def downgrade(self, action: DowngradeAction, version: str = "", *, deadline: float) -> str:
        """Validate, enable or cancel a downgrade; etcd's answer names the cluster version."""
        request = pb.DowngradeRequest(action=action.value, version=version)
        answer = await self._call(self._maintenance.Downgrade, request, deadline)
        return str(answer.version)

    async def snapshot(self, *, deadline: float) -> AsyncIterator[SnapshotChunk]:
        """Stream the member's database; leaving the loop early cancels the call."""
        call = self._maintenance.Snapshot(pb.SnapshotRequest(), timeout=deadline)
        try:
            with self._translated(deadline):
                async for chunk in call:
                    yield messages.snapshot_chunk(chunk)
        finally:
            call.cancel()

    async def _change(self, method: Any, request: Any, deadline: float) -> Any:
        """Call what changes the membership, if it is certain who will carry it out."""
        if self._expected is None:
            raise IdentityMismatch(f"{self._target}: a change needs an identity that was confirmed first")
        left = _Deadline(deadline)
        cluster_id, member_id = self._expected
        await self.expect(cluster_id=cluster_id, member_id=member_id, deadline=left.seconds())
        if self._channel.get_state() is not grpc.ChannelConnectivity.READY:
            raise Unreachable(f"{self._target}: the connection was lost before the change was sent")
        return await self._call(method, request, left.seconds())

    async def _call(self, method: Any, request: Any, deadline: float) -> Any:
        with self._translated(deadline):
            return await method(request, timeout=deadline)

    @contextlib.contextmanager
    def _translated(self, deadline: float) -> Iterator[None]:
        left = _Deadline(deadline)
        try:
            yield
        except grpc.aio.AioRpcError as error:
            found = translate(error.code().name, error.details() or "", target=self._target)
            if isinstance(found, ConnectionLost) and left.seconds() < _SAME_MOMENT_SECONDS:
                # The member knows our deadline too, and its reset of the stream may win the race.
                found = DeadlineExceeded(f"{self._target}: no answer in {deadline:g} s")
            raise found from error
        except asyncio.CancelledError as error:
            # grpc.aio says so too when the channel was closed under the call; that is not our cancellation.
            task = asyncio.current_task()
            if task is not None and not task.cancelling():
                raise ConnectionLost(f"{self._target}: the channel was closed") from error
            raise


class _Deadline:
    """One deadline over several calls."""

    def __init__(self, seconds: float) -> None:
        self._at = asyncio.get_running_loop().time() + seconds

    def seconds(self) -> float:
        return max(0.0, self._at - asyncio.get_running_loop().time())
