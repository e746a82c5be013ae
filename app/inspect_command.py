"""``etcd-operator inspect-wal DIR``: how far the log of a member that does not run reaches.

It runs in a Pod beside a member's volume, which only that node can read, and leaves its answer, one line of
JSON, where the kubelet fetches a container's last words. Ids are hexadecimal, as in etcd's logs.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from app.etcd.identity import text
from app.etcd.wal import WalError, read

LAST_WORDS = Path("/dev/termination-log")


def inspect(folder: Path) -> dict[str, object]:
    """Read the log in the folder ``member/wal`` of a member's data; raises `WalError`."""
    names = sorted(folder.glob("*.wal"))
    try:
        log = read(_contents(names))
    except OSError as error:
        raise WalError(f"{folder}: {error}") from error
    return {
        "clusterID": text(log.cluster_id),
        "memberID": text(log.member_id),
        "term": log.term,
        "index": log.index,
        "commit": log.commit,
        "tail": log.tail,
    }


def _contents(paths: Sequence[Path]) -> Iterator[bytes]:
    """One file after the other: each is 64 MB."""
    for path in paths:
        yield path.read_bytes()


def main(arguments: Sequence[str]) -> int:
    """Inspect the folder that is given; returns the process's exit status."""
    if len(arguments) != 1:
        print("Usage: etcd-operator inspect-wal DIR", file=sys.stderr)
        return 2
    try:
        line, status = json.dumps(inspect(Path(arguments[0]))), 0
    except WalError as error:
        line, status = str(error), 1
    print(line)
    if LAST_WORDS.exists():
        LAST_WORDS.write_text(line)
    return status
