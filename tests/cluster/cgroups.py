"""Control groups: what makes a cluster's processes findable and mortal.

Each process that the harness starts joins the cluster's group before it does anything else, so whatever is
alive of a cluster is below that group, even if the harness was killed in between. The group's folder carries
its owner's name in an extended attribute: the kernel's own record of who holds which number, gone with a
reboot like everything that it names.

Both layouts are served: one cgroup v2 tree, or v1 with a tree per controller (and perhaps a v2 tree beside
them). A group is made in every tree; the processes are looked for in all of them.
"""

import contextlib
import errno
import fcntl
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from tests.cluster.errors import HarnessError
from tests.cluster.processes import Process
from tests.cluster.waiting import wait_until

_OWNER = "trusted.etcd-operator-test"
_CPUSET = ("cpuset.cpus", "cpuset.mems")  # a v1 group can't hold a process before both have a value


@cache
def trees() -> tuple[Path, ...]:
    """Where cgroup trees are mounted, the v2 one first.

    Raises:
        HarnessError: there are none.

    """
    found: list[tuple[bool, Path]] = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        head, _, tail = line.partition(" - ")
        kind = tail.split()[0]
        if kind in {"cgroup", "cgroup2"}:
            found.append((kind == "cgroup", Path(head.split()[4])))
    if not found:
        raise HarnessError("No cgroup file system is mounted; the test cluster needs one, as systemd sets up")
    return tuple(path for _, path in sorted(found))


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Only one process on this machine may claim or release a group at a time."""
    handle = os.open(trees()[0], os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Group:
    """A group, by its path from the root of each tree."""

    path: PurePosixPath

    def child(self, name: str) -> "Group":
        return Group(self.path / name)

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(tree / self.path for tree in trees())

    def exists(self) -> bool:
        return any(folder.is_dir() for folder in self.folders)

    def owner(self) -> str | None:
        """Who claimed it; None if nobody did (or was killed while doing so)."""
        try:
            return os.getxattr(self.folders[0], _OWNER).decode()
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENODATA}:
                return None
            raise

    def claim(self, owner: str) -> None:
        """Make the group and write its owner on it; to be called within `exclusive()`."""
        self.create()
        os.setxattr(self.folders[0], _OWNER, owner.encode())

    def create(self) -> None:
        for tree in trees():
            _create(tree, self.path)

    def joining(self) -> str:
        """A shell fragment by which a process moves itself into the group, or fails."""
        return "".join(f"echo $$ >{folder}/cgroup.procs && " for folder in self.folders)

    def processes(self) -> frozenset[int]:
        """All process ids in the group and below."""
        return frozenset(pid for folder in self.folders for pid in _processes(folder))

    def own_processes(self) -> tuple[int, ...]:
        """The process ids in the group itself, oldest first as far as the numbers tell."""
        return tuple(sorted(_read_processes(self.folders[0])))

    def find(self, name: str) -> "Group | None":
        """The group below this one, at any depth, that is called `name`."""
        for tree, top in zip(trees(), self.folders, strict=True):
            for folder, below, _ in os.walk(top):
                if name in below:
                    return Group(PurePosixPath(Path(folder, name).relative_to(tree)))
        return None

    def kill(self, *, timeout: float = 20) -> None:
        """SIGKILL everything in the group and below until nothing is left.

        Raises:
            HarnessError: something still lives after `timeout` seconds (it hangs in the kernel).

        """
        doomed: set[Process] = set()

        def gone() -> bool:
            left = {process for pid in self.processes() if (process := Process.of(pid))}
            for process in left:
                process.signal(signal.SIGKILL)
            # One that ends leaves its group a moment before it has ended.
            doomed.update(left)
            return not any(process.alive for process in doomed)

        what = f"the end of all processes in the cgroup {self.path}"
        wait_until(gone, timeout=timeout, what=what, every=0.02)

    def remove(self) -> None:
        """Remove the group and those below, which must be without processes."""
        for folder in self.folders:
            for below, _, _ in os.walk(folder, topdown=False):
                wait_until(
                    lambda path=Path(below): _removed(path),  # type: ignore[misc]  # a default binds the loop's value
                    timeout=10,
                    what=f"the removal of {below}",
                    every=0.02,
                )


def _create(tree: Path, path: PurePosixPath) -> None:
    parent = tree
    for part in path.parts:
        folder = parent / part
        folder.mkdir(exist_ok=True)
        for name in _CPUSET:
            value = folder / name
            if value.exists() and (parent / "tasks").exists() and not value.read_text().strip():
                value.write_text((parent / name).read_text())
        _delegate(parent)
        parent = folder


def _delegate(folder: Path) -> None:
    """Let the groups below a v2 group have its controllers, where that is ours to say."""
    available = folder / "cgroup.controllers"
    for controller in available.read_text().split() if available.exists() else ():
        with contextlib.suppress(OSError):
            (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def _processes(top: Path) -> Iterator[int]:
    for folder, _, _ in os.walk(top):
        yield from _read_processes(Path(folder))


def _read_processes(folder: Path) -> list[int]:
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP}:
            return []  # it went while we looked
        raise


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno == errno.EBUSY:  # a process that ended is still being buried
            return False
        raise
    return True
