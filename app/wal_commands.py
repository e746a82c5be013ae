"""What the operator runs beside a member's volume while the member does not run.

``etcd-operator inspect-wal DIR`` says how far the member's log reaches, in one line of JSON, and leaves that
where the kubelet fetches a container's last words. ``etcd-operator commit-wal DIR`` writes into the log that
all of it is committed. Ids are hexadecimal, as in etcd's logs.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from app.etcd.identity import text
from app.etcd.wal import WalError, commit_all, read

LAST_WORDS = Path("/dev/termination-log")


def inspect(folder: Path) -> str:
    """Read the log in the folder ``member/wal`` of a member's data; raises `WalError` and OSError."""
    log = read(_contents(_files(folder)))
    said = {
        "clusterID": text(log.cluster_id),
        "memberID": text(log.member_id),
        "term": log.term,
        "index": log.index,
        "commit": log.commit,
        "tail": log.tail,
    }
    return json.dumps(said)


def commit(folder: Path) -> str:
    """Make all of a log committed; once it is, it stays as it is. Raises `WalError` and OSError."""
    files = _files(folder)
    amendment = commit_all(_contents(files))
    if amendment is None:
        return "all of the log is committed"
    with files[-1].open("r+b") as last:
        last.seek(amendment.offset)
        last.write(amendment.data)
        last.flush()
        os.fsync(last.fileno())
    return "all of the log is committed now"


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.wal"))


def _contents(paths: Sequence[Path]) -> Iterator[bytes]:
    """One file after the other: each is 64 MB."""
    for path in paths:
        yield path.read_bytes()


def main(command: Callable[[Path], str], arguments: Sequence[str]) -> int:
    """Carry out a command on the folder that is given; returns the process's exit status."""
    if len(arguments) != 1:
        print("etcd-operator: exactly one folder is needed, a member's member/wal", file=sys.stderr)
        return 2
    try:
        line, status = command(Path(arguments[0])), 0
    except (WalError, OSError) as error:
        line, status = str(error), 1
    print(line)
    if LAST_WORDS.exists():
        LAST_WORDS.write_text(line)
    return status
