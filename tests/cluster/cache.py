"""What is expensive and depends on nothing but its inputs is made once a machine and kept.

An entry is a folder named by its key. It is made under another name and renamed when it is whole, so an
entry that is there is complete, whatever was killed before; a file lock beside it makes a second process
wait for the first instead of doing the same work.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.cluster.progress import say

LOCATION = "ETCD_OPERATOR_CACHE"
KEPT_OF_A_FAMILY = 3
KEPT_SECONDS = 3600.0


def root() -> Path:
    """The cache's folder: $ETCD_OPERATOR_CACHE, else below the XDG cache folder."""
    if chosen := os.environ.get(LOCATION):
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "etcd-operator"


def key(*parts: bytes | str) -> str:
    """A short name for exactly these inputs, in this order."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path, *, waiting_for: str) -> Iterator[None]:
    """Hold the lock file `path` exclusively; say so once if another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Waiting for another process: {waiting_for}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def entry(kind: str, name: str, make: Callable[[Path], None]) -> Path:
    """The folder `<root>/<kind>/<name>`, which `make` fills (in another place) if it isn't there.

    `name` must end with the key of everything that `make` depends on. What `make` raises goes through,
    and leaves nothing.
    """
    place = root() / kind / name
    if _used(place):
        return place
    with locked(place.with_name(f".{name}.lock"), waiting_for=f"{kind} {name}"):
        if _used(place):
            return place
        for left in place.parent.glob(f".{name}.*/"):  # by a process that was killed
            shutil.rmtree(left)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=place.parent))
        try:
            make(unfinished)
            unfinished.chmod(0o755)
            unfinished.rename(place)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    _prune(place)
    return place


def _used(place: Path) -> bool:
    """Whether the entry is there; if so, note that it was used."""
    try:
        os.utime(place)
    except FileNotFoundError:
        return False
    return True


def _prune(newest: Path) -> None:
    """Remove what is old among the entries of this one's family, but for the last few."""
    family = newest.name.rpartition("-")[0]
    relatives: list[tuple[float, Path]] = []
    for one in newest.parent.iterdir():
        if not one.name.startswith(".") and one.name.rpartition("-")[0] == family and one != newest:
            with contextlib.suppress(FileNotFoundError):  # others prune too
                relatives.append((one.stat().st_mtime, one))
    for used, one in sorted(relatives, reverse=True)[KEPT_OF_A_FAMILY - 1 :]:
        if time.time() - used > KEPT_SECONDS:
            gone = Path(tempfile.mkdtemp(prefix=".gone.", dir=one.parent))
            with contextlib.suppress(FileNotFoundError):
                one.rename(gone / one.name)  # at once, so that nobody finds half of it
            shutil.rmtree(gone)
