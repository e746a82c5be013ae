"""What the operator asks of etcd: the seam between our decisions and the wire.

``Client`` speaks to *one* member, over one connection; ``Dialer`` gives one for an address. The gRPC
implementation is in ``grpc_client`` and ``pool``, the fake for tests in ``fake``; nothing else in the
operator knows which of them it holds.

Two rules are built into the seam. Each call has a deadline in seconds, since a member without a quorum
leaves most calls hanging for ever. And a change of the membership is refused until ``expect`` has confirmed
whom the client speaks to, and confirms it again right before it is sent: Pod addresses are used again, and a
change sent to the wrong cluster can't be taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from app.etcd.endpoint import Endpoint
    from app.etcd.model import (
        Alarm,
        Alarms,
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


class Client(Protocol):
    """Calls to one member. Every method raises the errors of ``app.etcd.errors`` and no others.

    ``deadline`` is in seconds from the call. An error with ``outcome_unknown`` may have changed etcd.
    """

    async def status(self, *, deadline: float) -> Status:
        """Ask the member about itself; answered without a quorum once the member has joined one."""
        ...

    async def expect(self, *, cluster_id: int, member_id: int | None, deadline: float) -> Status:
        """Confirm that this member of this cluster answers, as every membership change requires.

        ``member_id`` None takes any member of the cluster. Raises IdentityMismatch for another one.
        """
        ...

    async def member_list(self, *, linearizable: bool = True, deadline: float) -> MemberList:
        """List the membership; not ``linearizable``, it is what this member knows and may be stale."""
        ...

    async def member_add(
        self, peer_urls: Sequence[str], *, learner: bool = True, deadline: float
    ) -> MemberAdded:
        """Add a member; AlreadyExists says that an earlier attempt was carried out."""
        ...

    async def member_promote(self, member_id: int, *, deadline: float) -> MemberList:
        """Make a learner a voter; NotLearner says that it is one."""
        ...

    async def member_remove(self, member_id: int, *, deadline: float) -> MemberList:
        """Remove a member; MemberNotFound says that it is gone."""
        ...

    async def member_update(self, member_id: int, peer_urls: Sequence[str], *, deadline: float) -> MemberList:
        """Change a voter's peer URLs; never a learner's, which some versions promote by it (etcd#21694)."""
        ...

    async def move_leader(self, target_id: int, *, deadline: float) -> None:
        """Hand leadership to another voter; only the leader takes this call. etcd's answer has no header."""
        ...

    async def alarms(self, *, deadline: float) -> Alarms:
        """List the alarms that are on."""
        ...

    async def disarm(self, alarm: Alarm, *, deadline: float) -> Alarms:
        """Put off one alarm of one member; there is no call for all."""
        ...

    async def defragment(self, *, deadline: float) -> None:
        """Rewrite the member's file. The member is blocked meanwhile: 1 to 2 s per 100 MB."""
        ...

    async def compact(self, revision: int, *, physical: bool = True, deadline: float) -> Header:
        """Drop the history before ``revision``; ``physical`` waits until it is free inside the file."""
        ...

    async def hash_kv(self, revision: int = 0, *, deadline: float) -> HashKV:
        """Hash the member's keys up to ``revision`` (0: its latest)."""
        ...

    async def get(self, key: bytes, *, serializable: bool = False, deadline: float) -> Value:
        """Read one key, through the quorum unless ``serializable``."""
        ...

    async def put(self, key: bytes, value: bytes, *, lease: int = 0, deadline: float) -> Header:
        """Write one key."""
        ...

    async def delete(self, key: bytes, *, deadline: float) -> Header:
        """Delete one key."""
        ...

    async def lease_grant(self, ttl_seconds: int, *, deadline: float) -> Lease:
        """Grant a lease; also the way to append to the raft log without touching a key."""
        ...

    async def lease_revoke(self, lease: int, *, deadline: float) -> Header:
        """Revoke a lease, and with it the keys bound to it."""
        ...

    async def downgrade(self, action: DowngradeAction, version: str = "", *, deadline: float) -> str:
        """Validate, enable or cancel a downgrade to a minor ("3.5"); returns the cluster version."""
        ...

    def snapshot(self, *, deadline: float) -> AsyncIterator[SnapshotChunk]:
        """Stream the member's database; ``deadline`` is for the whole of it.

        The stream that ends without its last 32 bytes, the SHA-256 of all before, is incomplete.
        """
        ...


class Dialer(Protocol):
    """Gives clients for addresses."""

    def dial(self, endpoint: Endpoint) -> AbstractAsyncContextManager[Client]:
        """Borrow a client for the length of a ``with`` block. Nothing is sent yet."""
        ...
