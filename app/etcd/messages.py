"""From etcd's protobuf messages to our model: pure.

The stubs are older than etcd: ``StatusResponse`` ends at field 10, ``HashKVResponse`` and
``SnapshotResponse`` at 3. What etcd 3.6 added comes as unknown fields, which protobuf keeps, and is read by
number here (the numbers are those of etcd's ``rpc.proto``, where they may never change).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.empty_pb2 import Empty
from google.protobuf.unknown_fields import UnknownFieldSet

from app.etcd.model import (
    Alarm,
    Alarms,
    AlarmType,
    HashKV,
    Header,
    Member,
    MemberAdded,
    MemberList,
    SnapshotChunk,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STATUS_STORAGE_VERSION: Final = 11
_STATUS_DB_SIZE_QUOTA: Final = 12
_STATUS_DOWNGRADE: Final = 13
_DOWNGRADE_ENABLED: Final = 1
_DOWNGRADE_TARGET: Final = 2
_HASH_REVISION: Final = 4
_ALARM: Final = re.compile(r"(?:memberID:(?P<member>\d+)\s+)?alarm:(?P<kind>\w+)")
_SNAPSHOT_VERSION: Final = 4


def header(message: Any) -> Header:
    """Read the header of an answer."""
    return Header(
        cluster_id=message.cluster_id,
        member_id=message.member_id,
        revision=message.revision,
        raft_term=message.raft_term,
    )


def member(message: Any) -> Member:
    """Read one member."""
    return Member(
        id=message.ID,
        name=message.name,
        peer_urls=tuple(message.peerURLs),
        client_urls=tuple(message.clientURLs),
        is_learner=message.isLearner,
    )


def members(messages: Iterable[Any]) -> tuple[Member, ...]:
    """Read a membership, in the order of the ids: etcd gives none."""
    return tuple(sorted((member(message) for message in messages), key=lambda found: found.id))


def member_list(message: Any) -> MemberList:
    """Read the answer of a list, a promotion, a removal or an update: they are alike."""
    return MemberList(header(message.header), members(message.members))


def member_added(message: Any) -> MemberAdded:
    """Read the answer of an add."""
    return MemberAdded(header(message.header), member(message.member), members(message.members))


def status(message: Any) -> Status:
    """Read a status."""
    extra = _unknown(message)
    downgrade = _unknown(Empty.FromString(_blob(extra.get(_STATUS_DOWNGRADE))))
    return Status(
        header=header(message.header),
        version=message.version,
        db_size=message.dbSize,
        db_size_in_use=message.dbSizeInUse,
        leader=message.leader,
        raft_index=message.raftIndex,
        raft_applied_index=message.raftAppliedIndex,
        raft_term=message.raftTerm,
        errors=tuple(message.errors),
        alarms=tuple(_named(message.errors)),
        is_learner=message.isLearner,
        storage_version=_blob(extra.get(_STATUS_STORAGE_VERSION)).decode(),
        db_size_quota=_number(extra.get(_STATUS_DB_SIZE_QUOTA)),
        downgrade_enabled=bool(_number(downgrade.get(_DOWNGRADE_ENABLED))),
        downgrade_target=_blob(downgrade.get(_DOWNGRADE_TARGET)).decode(),
    )


def alarms(message: Any) -> Alarms:
    """Read a list of alarms."""
    kinds = {kind.value: kind for kind in AlarmType}
    found = (Alarm(each.memberID, kinds.get(each.alarm, AlarmType.UNKNOWN)) for each in message.alarms)
    return Alarms(header(message.header), tuple(found))


def hash_kv(message: Any) -> HashKV:
    """Read a hash."""
    revision = _number(_unknown(message).get(_HASH_REVISION))
    return HashKV(header(message.header), message.hash, message.compact_revision, revision)


def snapshot_chunk(message: Any) -> SnapshotChunk:
    """Read a piece of a snapshot."""
    version = _blob(_unknown(message).get(_SNAPSHOT_VERSION)).decode()
    return SnapshotChunk(message.blob, message.remaining_bytes, version)


def _named(errors: Iterable[str]) -> Iterator[Alarm]:
    """Read alarms off the errors of a status: ``memberID:123 alarm:CORRUPT``, with blanks that vary."""
    for text in errors:
        found = _ALARM.search(text)
        if found is not None:
            kind = AlarmType.__members__.get(found["kind"], AlarmType.UNKNOWN)
            yield Alarm(int(found["member"] or 0), kind)


def _unknown(message: Any) -> dict[int, Any]:
    unknown = UnknownFieldSet(message)
    fields = (unknown[index] for index in range(len(unknown)))
    return {field.field_number: field.data for field in fields}


def _blob(data: Any) -> bytes:
    return data if isinstance(data, bytes) else b""


def _number(data: Any) -> int:
    return data if isinstance(data, int) else 0
