"""What is known of clusters between two runs of the harness: a folder each, under a lock of its own.

The folder says which number (and so which names and addresses in the kernel) a cluster has. That number
counts only as long as the cgroup of this number names the folder as its owner; after a reboot, or if somebody
cleaned up by hand, it doesn't, and nothing of another cluster is touched.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from tests.cluster import limits, links
from tests.cluster.addresses import LIMIT, Addresses
from tests.cluster.cgroups import Group, exclusive
from tests.cluster.errors import HarnessError
from tests.cluster.processes import Process

LOCATION = "ETCD_OPERATOR_CLUSTERS"
_RECORD = "cluster.json"


class Record(msgspec.Struct, frozen=True):
    """What `up` decided."""

    number: int
    nodes: int
    owner: Process | None = None
    """The process without which it has no use. None for a cluster that stays until it is taken down."""


def root() -> Path:
    """Where the clusters' folders are: $ETCD_OPERATOR_CLUSTERS, else below the XDG state folder."""
    if chosen := os.environ.get(LOCATION):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "etcd-operator" / "clusters"


def names() -> list[str]:
    """The clusters that have a folder."""
    folder = root()
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


@dataclass(frozen=True, slots=True)
class State:
    """The state of the cluster `name`."""

    name: str

    def __post_init__(self) -> None:
        if not self.name or not all(c.isascii() and (c.isalnum() or c in "-_") for c in self.name):
            raise HarnessError(f"{self.name!r} can't be a cluster's name: letters, digits, - and _ can")

    @property
    def folder(self) -> Path:
        return root() / self.name

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the cluster against other processes, waiting for them; its folder exists meanwhile."""
        while True:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                handle = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            except (FileExistsError, FileNotFoundError):
                if self.folder.exists() and not self.folder.is_dir():
                    raise
                continue  # the process before us has removed it in between
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                if self._is(handle):  # and not one that the process before us has removed
                    yield
                    return
            finally:
                os.close(handle)

    def _is(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), self.folder.stat())
        except FileNotFoundError:
            return False

    def read(self) -> Record | None:
        """The record; None if there is none or it was being written when its writer was killed."""
        try:
            return msgspec.json.decode((self.folder / _RECORD).read_bytes(), type=Record)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def claim(self, nodes: int, owner: Process | None) -> tuple[Record, Group]:
        """Take a number that nobody has, and the cgroup that goes with it.

        Raises:
            HarnessError: all are in use, by other clusters or by the host's own networks.

        """
        with exclusive():
            for number in range(LIMIT):
                group = _group(number)
                if group.exists() and not _reclaimed(group):
                    continue
                if links.taken(Addresses(number)):
                    continue
                record = Record(number=number, nodes=nodes, owner=owner)
                (self.folder / _RECORD).write_bytes(msgspec.json.encode(record))
                group.claim(str(self.folder))
                limits.lift()
                return record, group
        raise HarnessError("No address range is free for another cluster: take one down, see `list`")

    def group(self) -> Group | None:
        """The cgroup of the cluster, while it is the cluster's."""
        record = self.read()
        if record is None:
            return None
        group = _group(record.number)
        return group if group.owner() == str(self.folder) else None

    def clear(self) -> None:
        """Kill and remove everything of the cluster but its folder, which is emptied. Hold the lock."""
        for number in range(LIMIT):
            group = _group(number)
            if group.owner() == str(self.folder):
                group.kill()
                with exclusive():
                    group.remove()
                    if not any(_group(other).exists() for other in range(LIMIT)):
                        limits.restore()
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def remove(self) -> None:
        """Clear it, and remove its folder too. Hold the lock."""
        self.clear()
        self.folder.rmdir()


def _reclaimed(group: Group) -> bool:
    """Whether the group is nobody's: its claim was never finished, or its cluster's folder was deleted."""
    owner = group.owner()
    if (owner is None and group.processes()) or (owner is not None and Path(owner).is_dir()):
        return False
    group.kill()
    group.remove()
    return True


def _group(number: int) -> Group:
    return Group(PurePosixPath(f"{links.PREFIX}{number}"))
