"""Etcd's write-ahead log: how far that of a member that does not run reaches, and how to commit all of it.

After a loss of quorum the cluster goes on with the member whose log is the last by (term, index). That is
what raft's elections go by; the longest log may be an uncommitted tail of an older term. Without a quorum no
member's own word is to be had, so the numbers are read from the files.

A file is a row of frames: eight bytes, little endian, of which the low 56 bits give the length of the record
and, where the topmost bit is set, the lowest three bits of the last byte the number of bytes of padding. A
record has a type, data, and the CRC-32C of all data since the file's first record, which continues the chain
of the file before. The file is allocated in advance: a length of zero is the end of what was written.
(etcd, ``server/storage/wal``: ``decoder.go``, ``encoder.go``, ``walpb/record.proto``; ``raftpb/raft.proto``.)

A member learns that an entry is committed after it has stored the entry, and does not hasten to write that
down. ``--force-new-cluster`` drops what the log does not call committed: after a SIGKILL or a power failure
that is the last write that clients were told of (seen with etcd 3.4, 3.5 and 3.6). So a survivor's log is
amended by the statement that all of it is committed, as its next leader would have found.

The same in etcd 3.4 to 3.7. Nothing here does I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from app.errors import OperatorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_METADATA, _ENTRY, _STATE, _CRC, _SNAPSHOT = range(1, 6)
_LENGTH_BYTES = 8
_LENGTH_MASK = (1 << 56) - 1
_PADDED = 1 << 63
_SECTOR = 512
_VERIFIED_BYTES = 4 * 1024 * 1024
"""How much of the end of each file is verified here by its checksums; etcd itself verifies the rest."""


class WalError(OperatorError):
    """These files are no log of etcd that can be read from its beginning."""


class Tail(StrEnum):
    """How a log ends."""

    CLEAN = "clean"
    TORN = "torn"
    """With a record that was being written: it was never acknowledged, and etcd drops it."""
    DAMAGED = "damaged"
    """With what etcd never wrote: acknowledged entries may be missing."""


@dataclass(frozen=True, slots=True)
class Log:
    """How far a log reaches, whose it is, and how it ends."""

    cluster_id: int
    member_id: int
    term: int
    index: int
    commit: int
    tail: Tail


@dataclass(frozen=True, slots=True)
class Amendment:
    """What to write into the last file of a log: ``data`` at ``offset``."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class _Record:
    offset: int
    end: int
    type: int
    crc: int
    data: bytes


@dataclass(slots=True)
class _Reach:
    cluster_id: int = 0
    member_id: int = 0
    term: int = 0
    index: int = 0
    commit: int = 0
    state_term: int = 0
    vote: int = 0
    end: int = 0
    crc: int = 0

    def take(self, record: _Record) -> None:
        numbers = _numbers(record.data)
        if record.type == _METADATA:
            self.member_id, self.cluster_id = numbers.get(1, 0), numbers.get(2, 0)
        elif record.type == _ENTRY:  # it replaces whatever stood at its index and behind it
            self.term, self.index = numbers.get(2, 0), numbers.get(3, 0)
        elif record.type == _STATE:
            self.state_term, self.vote, self.commit = (numbers.get(field, 0) for field in (1, 2, 3))
        elif record.type == _SNAPSHOT and numbers.get(1, 0) > self.index:  # a leader sent it
            self.index, self.term = numbers.get(1, 0), numbers.get(2, 0)


def read(files: Iterable[bytes]) -> Log:
    """Read the files of one log, in the order of their names.

    Raises `WalError` where not even the first record can be read.
    """
    reach, tail = _walk(files)
    return Log(reach.cluster_id, reach.member_id, reach.term, reach.index, reach.commit, tail)


def commit_all(files: Iterable[bytes]) -> Amendment | None:
    """Say what makes all of a log committed; None where it is.

    A record that was torn is overwritten. Raises `WalError` for a log that can't be read to its end.
    """
    torn = b""
    contents: list[bytes] = []

    def kept() -> Iterator[bytes]:
        for content in files:
            contents[:] = [content]
            yield content

    reach, tail = _walk(kept())
    if tail is Tail.DAMAGED:
        raise WalError("the end of the log is damaged")
    if reach.commit >= reach.index:
        return None
    if tail is Tail.TORN:
        torn = bytes(len(contents[0].rstrip(b"\0")) - reach.end)
    state = _message((1, max(reach.state_term, reach.term)), (2, reach.vote), (3, reach.index))
    body = _message((1, _STATE), (2, crc32c(state, reach.crc)))
    body += b"\x1a" + _encoded(len(state)) + state
    padding = -len(body) % 8
    field = len(body) | (0x80 | padding) << 56 if padding else len(body)
    frame = field.to_bytes(_LENGTH_BYTES, "little") + body + bytes(padding)
    return Amendment(reach.end, frame + torn[len(frame) :])


def _walk(files: Iterable[bytes]) -> tuple[_Reach, Tail]:
    reach, tail = _Reach(), Tail.CLEAN
    for content in files:
        if tail is not Tail.CLEAN:
            tail = Tail.DAMAGED  # only the last file may end in the middle of a record
            break
        records, tail = _split(content)
        sound = _sound(records)
        if sound < len(records):
            bad = records[sound]
            torn = bad is records[-1] and _is_torn(bad.data, bad.offset)
            records, tail = records[:sound], Tail.TORN if torn else Tail.DAMAGED
        for record in records:
            reach.take(record)
        if records:
            reach.end, reach.crc = records[-1].end, records[-1].crc
    if not reach.cluster_id:
        raise WalError("there is no log of etcd here that can be read")
    return reach, tail


def _message(*fields: tuple[int, int]) -> bytes:
    """Encode a message of numbers."""
    return b"".join(_encoded(number << 3) + _encoded(value) for number, value in fields)


def _encoded(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def _split(content: bytes) -> tuple[list[_Record], Tail]:
    """Split a file into its records, up to its end or to the first one that can't be read."""
    records: list[_Record] = []
    offset = 0
    while offset + _LENGTH_BYTES <= len(content):
        field = int.from_bytes(content[offset : offset + _LENGTH_BYTES], "little")
        if field == 0:
            break
        length = field & _LENGTH_MASK
        padding = field >> 56 & 7 if field & _PADDED else 0
        start = offset + _LENGTH_BYTES
        body = content[start : start + length]
        end = start + length + padding
        record = _record(start, end, body) if len(body) == length else None
        if record is None:
            return records, Tail.TORN if _is_torn(body, start) else Tail.DAMAGED
        records.append(record)
        offset = end
    return records, Tail.CLEAN


def _record(offset: int, end: int, body: bytes) -> _Record | None:
    try:
        fields = dict(_fields(body))
    except ValueError:
        return None
    kind, crc, data = fields.get(1, 0), fields.get(2, 0), fields.get(3, b"")
    if not isinstance(kind, int) or not isinstance(crc, int) or not isinstance(data, bytes):
        return None
    if not _METADATA <= kind <= _SNAPSHOT:
        return None
    return _Record(offset + len(body) - len(data), end, kind, crc, data)  # the data comes last


def _is_torn(data: bytes, offset: int) -> bool:
    """Whether a sector of it was never written: it is allocated as zeros."""
    cuts = [0, *range(-offset % _SECTOR or _SECTOR, len(data), _SECTOR), len(data)]
    return any(not any(data[cut:end]) for cut, end in pairwise(cuts))


def _sound(records: list[_Record]) -> int:
    """How many records come before the first, near the end, whose checksum is wrong."""
    first = max(1, len(records) - 1)
    end = records[-1].offset if records else 0
    while first > 1 and records[first - 1].offset > end - _VERIFIED_BYTES:
        first -= 1
    for number in range(first, len(records)):
        record = records[number]
        if record.type != _CRC and crc32c(record.data, records[number - 1].crc) != record.crc:
            return number
    return len(records)


def _numbers(data: bytes) -> dict[int, int]:
    """The numbers of a message by their fields."""
    try:
        return {number: value for number, value in _fields(data) if isinstance(value, int)}
    except ValueError as error:
        raise WalError(f"a record can't be read: {error}") from error


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message; raises ValueError where it is none."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        value: int | bytes
        if key & 7 == 0:
            value, position = _varint(data, position)
        elif key & 7 == 2:
            length, position = _varint(data, position)
            value = data[position : position + length]
            if len(value) < length:
                raise ValueError("a field is cut off")
            position += length
        else:
            raise ValueError(f"unexpected wire type {key & 7}")
        yield key >> 3, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, position
        shift += 7
    raise ValueError("a number is cut off")


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


_TABLE = _table()


def crc32c(data: bytes, before: int = 0) -> int:
    """The CRC-32C (Castagnoli) of ``data``, continuing from the checksum of what came before it."""
    crc = ~before & 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    return ~crc & 0xFFFFFFFF
