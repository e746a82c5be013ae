"""What etcd says, as plain frozen data: no message of the wire leaves this package.

Ids are unsigned 64-bit integers as on the wire (decimal there); etcd's logs and our status show them in
hexadecimal, see ``app.etcd.identity.text``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


def quorum(voters: int) -> int:
    """How many of so many voters have to agree: more than half (raft)."""
    return voters // 2 + 1


@dataclass(frozen=True, slots=True)
class Header:
    """Who answered, and where it stood.

    ``revision`` is 0 in the answers to membership calls: etcd does not fill it in there.
    """

    cluster_id: int
    member_id: int
    revision: int
    raft_term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One line of the membership.

    A member that was added and has never started has an empty name and no client URLs: both are published
    by the member itself at its first start.
    """

    id: int
    name: str = ""
    peer_urls: tuple[str, ...] = ()
    client_urls: tuple[str, ...] = ()
    is_learner: bool = False

    @property
    def started(self) -> bool:
        """Whether the member has ever joined."""
        return bool(self.name)


@dataclass(frozen=True, slots=True)
class MemberList:
    """The membership as the answering member sees it."""

    header: Header
    members: tuple[Member, ...]

    @property
    def voters(self) -> tuple[Member, ...]:
        """The members that count for the quorum."""
        return tuple(member for member in self.members if not member.is_learner)

    @property
    def learners(self) -> tuple[Member, ...]:
        """The members that only follow."""
        return tuple(member for member in self.members if member.is_learner)

    @property
    def quorum(self) -> int:
        """How many voters have to agree."""
        return quorum(len(self.voters))

    def by_peer_url(self, url: str) -> Member | None:
        """Return the member that has this peer URL, if there is one; a peer URL is never in two members."""
        return next((member for member in self.members if url in member.peer_urls), None)


@dataclass(frozen=True, slots=True)
class MemberAdded:
    """The answer to an add: the new member, and the membership with it."""

    header: Header
    member: Member
    members: tuple[Member, ...]


class AlarmType(Enum):
    """The alarms that etcd knows; a number that a later version adds is ``UNKNOWN``."""

    NOSPACE = 1
    CORRUPT = 2
    UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm of one member. The member may have gone from the membership since."""

    member_id: int
    type: AlarmType


@dataclass(frozen=True, slots=True)
class Alarms:
    """The alarms that are on."""

    header: Header
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How one member does; it answers from its own memory, without a quorum.

    ``alarms`` are read off ``errors``, where each stands as text; asking for them goes through the log.

    Sizes are bytes of the backend's file. ``storage_version``, ``db_size_quota`` and the downgrade's fields
    exist from etcd 3.6 on and are empty, 0 and false before; ``leader`` is 0 when the member knows none.
    """

    header: Header
    version: str
    db_size: int
    db_size_in_use: int
    leader: int
    raft_index: int
    raft_applied_index: int
    raft_term: int
    errors: tuple[str, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    is_learner: bool = False
    storage_version: str = ""
    db_size_quota: int = 0
    downgrade_enabled: bool = False
    downgrade_target: str = ""

    @property
    def is_leader(self) -> bool:
        """Whether the member that answered leads."""
        return self.leader != 0 and self.leader == self.header.member_id


@dataclass(frozen=True, slots=True)
class HashKV:
    """The hash over the keys up to a revision; members agree when hash *and* ``compact_revision`` are equal.

    ``hash_revision`` is the revision that the hash was taken at, from etcd 3.6 on; 0 before.
    """

    header: Header
    hash: int
    compact_revision: int
    hash_revision: int = 0


@dataclass(frozen=True, slots=True)
class Value:
    """The answer to a read of one key; ``value`` is None when there is no such key."""

    header: Header
    value: bytes | None
    mod_revision: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """A granted lease; ``ttl_seconds`` is what etcd chose, at least what was asked for."""

    header: Header
    id: int
    ttl_seconds: int


@dataclass(frozen=True, slots=True)
class SnapshotChunk:
    """A piece of the snapshot stream.

    ``remaining_bytes`` counts what follows of the database itself; the last 32 bytes of the stream are the
    SHA-256 of all before. ``version`` is the storage version from etcd 3.6 on, empty before.
    """

    blob: bytes
    remaining_bytes: int
    version: str = ""


class DowngradeAction(Enum):
    """What to do about a downgrade of the cluster by one minor (etcd 3.6 and later)."""

    VALIDATE = 0
    ENABLE = 1
    CANCEL = 2
