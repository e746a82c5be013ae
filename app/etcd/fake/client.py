"""The client and the dialer over the model: what an operator under test holds in place of gRPC.

Hanging is real: a call that a member would not answer sleeps until its deadline on the loop's clock (which
a test may make virtual) and ends with DeadlineExceeded. ``FakeDialer.faults`` lets a test break any single
call, before or after it took effect.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from app.etcd.errors import (
    DeadlineExceeded,
    IdentityMismatch,
    LearnerRefuses,
    Unreachable,
    Unsupported,
)
from app.etcd.fake import calls
from app.etcd.fake.state import NoAnswerError, Process, State
from app.etcd.model import (
    Alarm,
    Alarms,
    HashKV,
    Header,
    Lease,
    MemberAdded,
    MemberList,
    SnapshotChunk,
    Status,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from app.etcd.client import Client
    from app.etcd.endpoint import Endpoint
    from app.etcd.fake.cluster import SimulatedCluster
    from app.etcd.model import DowngradeAction

_T = TypeVar("_T")


class Fault(Enum):
    """How a single call fails."""

    REFUSED = "no connection"
    LOST_BEFORE = "the deadline passes, and nothing was done"
    LOST_AFTER = "it was done, and the deadline passes before the answer"


class FakeClient:
    """``app.etcd.client.Client`` to one process of the model."""

    def __init__(self, dialer: FakeDialer, process: Process) -> None:
        self._dialer = dialer
        self._cluster = dialer.cluster
        self._process = process
        self._expected: tuple[int, int | None] | None = None

    async def status(self, *, deadline: float) -> Status:
        """Answer from the member's own memory."""
        return await self._call("status", self._status, deadline)

    async def expect(self, *, cluster_id: int, member_id: int | None, deadline: float) -> Status:
        """Confirm whom this client speaks to."""
        self._expected = None
        answer = await self.status(deadline=deadline)
        if answer.header.cluster_id != cluster_id or member_id not in (None, answer.header.member_id):
            raise IdentityMismatch(f"{self._process.name}: another member answers")
        self._expected = (cluster_id, member_id)
        return answer

    async def member_list(self, *, linearizable: bool = True, deadline: float) -> MemberList:
        """List the membership."""

        def answer() -> MemberList:
            state = self._cluster.committed(self._process) if linearizable else self._own()
            return self._listed(state)

        return await self._call("member_list", answer, deadline, learner=False)

    async def member_add(
        self, peer_urls: Sequence[str], *, learner: bool = True, deadline: float
    ) -> MemberAdded:
        """Add a member."""

        def answer() -> MemberAdded:
            member, state = calls.member_add(self._cluster, self._process, peer_urls, learner=learner)
            listed = self._listed(state)
            return MemberAdded(listed.header, member, listed.members)

        return await self._change("member_add", answer, deadline)

    async def member_promote(self, member_id: int, *, deadline: float) -> MemberList:
        """Make a learner a voter."""
        return await self._change(
            "member_promote",
            lambda: self._listed(calls.member_promote(self._cluster, self._process, member_id)),
            deadline,
        )

    async def member_remove(self, member_id: int, *, deadline: float) -> MemberList:
        """Remove a member."""
        return await self._change(
            "member_remove",
            lambda: self._listed(calls.member_remove(self._cluster, self._process, member_id)),
            deadline,
        )

    async def member_update(self, member_id: int, peer_urls: Sequence[str], *, deadline: float) -> MemberList:
        """Change a member's peer URLs."""
        return await self._change(
            "member_update",
            lambda: self._listed(calls.member_update(self._cluster, self._process, member_id, peer_urls)),
            deadline,
        )

    async def move_leader(self, target_id: int, *, deadline: float) -> None:
        """Hand leadership over."""
        return await self._change(
            "move_leader", lambda: calls.move_leader(self._cluster, self._process, target_id), deadline
        )

    async def alarms(self, *, deadline: float) -> Alarms:
        """List the alarms that are on."""
        return await self._call("alarms", lambda: self._alarms(self._own()), deadline, learner=False)

    async def disarm(self, alarm: Alarm, *, deadline: float) -> Alarms:
        """Put off one alarm."""
        return await self._call(
            "disarm",
            lambda: self._alarms(calls.set_alarm(self._cluster, self._process, alarm, on=False)),
            deadline,
            learner=False,
        )

    async def defragment(self, *, deadline: float) -> None:
        """Do nothing: the model has no file."""
        return await self._call("defragment", lambda: None, deadline)

    async def compact(self, revision: int, *, physical: bool = True, deadline: float) -> Header:
        """Append to the log: the model has no history."""
        del revision, physical
        return await self._write("compact", None, None, deadline)

    async def hash_kv(self, revision: int = 0, *, deadline: float) -> HashKV:
        """Hash the keys that this member has."""
        del revision

        def answer() -> HashKV:
            digest = hashlib.sha256(repr(sorted(self._own().keys.items())).encode()).digest()
            return HashKV(self._header(), int.from_bytes(digest[:4], "big"), -1, self._own().revision)

        return await self._call("hash_kv", answer, deadline, learner=False)

    async def get(self, key: bytes, *, serializable: bool = False, deadline: float) -> Value:
        """Read one key."""

        def answer() -> Value:
            state = self._own() if serializable else self._cluster.committed(self._process)
            value, revision = state.keys.get(key, (None, 0))
            return Value(self._header(), value, revision)

        return await self._call("get", answer, deadline, learner=serializable)

    async def put(self, key: bytes, value: bytes, *, lease: int = 0, deadline: float) -> Header:
        """Write one key; leases never end in the model."""
        del lease
        return await self._write("put", key, value, deadline)

    async def delete(self, key: bytes, *, deadline: float) -> Header:
        """Delete one key."""
        return await self._write("delete", key, None, deadline)

    async def lease_grant(self, ttl_seconds: int, *, deadline: float) -> Lease:
        """Append to the log."""
        header = await self._write("lease_grant", None, None, deadline)
        return Lease(header, self._own().index, ttl_seconds)

    async def lease_revoke(self, lease: int, *, deadline: float) -> Header:
        """Append to the log."""
        del lease
        return await self._write("lease_revoke", None, None, deadline)

    async def downgrade(self, action: DowngradeAction, version: str = "", *, deadline: float) -> str:
        """Refuse: the model has no cluster version."""
        del action, version, deadline
        raise Unsupported(f"{self._process.name}: no downgrades here")

    async def snapshot(self, *, deadline: float) -> AsyncIterator[SnapshotChunk]:
        """Stream the keys with their hash behind them, as the real stream ends."""
        blob = await self._call("snapshot", lambda: repr(self._own().keys).encode(), deadline, learner=False)
        yield SnapshotChunk(blob, 0)
        yield SnapshotChunk(hashlib.sha256(blob).digest(), 0)

    async def _write(self, name: str, key: bytes | None, value: bytes | None, deadline: float) -> Header:
        def answer() -> Header:
            calls.write(self._cluster, self._process, key, value)
            return self._header()

        return await self._call(name, answer, deadline, learner=False)

    async def _change(self, name: str, answer: Callable[[], _T], deadline: float) -> _T:
        if self._expected is None:
            raise IdentityMismatch(f"{self._process.name}: a change needs a confirmed identity")
        cluster_id, member_id = self._expected
        await self.expect(cluster_id=cluster_id, member_id=member_id, deadline=deadline)
        return await self._call(name, answer, deadline, learner=False)

    async def _call(
        self, name: str, answer: Callable[[], _T], deadline: float, *, learner: bool = True
    ) -> _T:
        """Answer, or hang; a member that is a learner refuses what is not for learners."""
        await asyncio.sleep(0)
        self._dialer.log.append((self._process.name, name))
        fault = self._dialer.faults(self._process.name, name)
        if fault is Fault.REFUSED or not self._process.running or not self._process.dialable:
            raise Unreachable(f"{self._process.name}: connection refused")
        if self._process.joined and fault is not Fault.LOST_BEFORE:
            if not learner and self._is_learner():
                raise LearnerRefuses(f"{self._process.name}: rpc not supported for learner")
            with contextlib.suppress(NoAnswerError):
                result = answer()
                if fault is not Fault.LOST_AFTER:
                    return result
        await asyncio.sleep(deadline)
        raise DeadlineExceeded(f"{self._process.name}: {name}: no answer in {deadline:g} s")

    def _status(self) -> Status:
        state, leader = self._own(), self._cluster.leader(self._process)
        leader_id = leader.held.member_id if leader is not None else 0
        known = self._cluster.committed(self._process).index if leader is self._process else state.index
        return Status(
            header=self._header(),
            version=self._process.version,
            db_size=20480,
            db_size_in_use=16384,
            leader=leader_id,
            raft_index=known,
            raft_applied_index=state.index,
            raft_term=state.term,
            errors=() if leader_id else ("etcdserver: no leader",),
            alarms=self._alarms(state).alarms,
            is_learner=self._is_learner(),
        )

    def _own(self) -> State:
        return self._process.held.state

    def _is_learner(self) -> bool:
        data = self._process.held
        member = data.state.members.get(data.member_id)
        return member is not None and member.is_learner

    def _header(self) -> Header:
        data = self._process.held
        return Header(data.cluster_id, data.member_id, data.state.revision, data.state.term)

    def _listed(self, state: State) -> MemberList:
        members = tuple(sorted(state.members.values(), key=lambda member: member.id))
        header = self._header()
        return MemberList(Header(header.cluster_id, header.member_id, 0, header.raft_term), members)

    def _alarms(self, state: State) -> Alarms:
        found = sorted(state.alarms, key=lambda alarm: (alarm.member_id, alarm.type.value))
        return Alarms(self._header(), tuple(found))


class FakeDialer:
    """Dials processes of the model by an address that the test gives them.

    ``faults`` is asked at each call with the member's and the call's name; ``log`` has all calls in order.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.addresses: dict[str, str] = {}  # host → member's name; a host that is missing is its own name
        self.log: list[tuple[str, str]] = []
        self.faults: Callable[[str, str], Fault | None] = lambda _member, _call: None

    @contextlib.asynccontextmanager
    async def dial(self, endpoint: Endpoint) -> AsyncIterator[Client]:
        """Borrow a client; an address that belongs to nobody is Unreachable at once."""
        name = self.addresses.get(endpoint.host, endpoint.host)
        if name not in self.cluster.processes:
            raise Unreachable(f"{endpoint}: no route to host")
        yield FakeClient(self, self.cluster.processes[name])
