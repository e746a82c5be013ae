"""Images on a node without loading them: a containerd folder with them in it, made once and shared by links.

Loading unpacks every file of every image, on each node, each time. All of it is read-only from then on, so
the nodes can share the files by hard links; only containerd's own databases are copied.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.cluster import cache
from tests.cluster.cgroups import Group
from tests.cluster.machine import Machine
from tests.cluster.node import containerd, import_image
from tests.cluster.progress import step
from tests.cluster.waiting import wait_until

_KIND = "containerd"
_FOLDER = "containerd"
_KEPT = 12


def prepared(archives: Sequence[Path], group: Group) -> Path:
    """A containerd folder with these images in it, in the cache; `group` is for the machine that makes it.

    The last archive may change often: the others are unpacked once, without it.
    """
    *lasting, changing = archives
    base = _made(lasting, group) if lasting else None
    return _made([changing], group, base)


def _made(archives: Sequence[Path], group: Group, base: Path | None = None) -> Path:
    version = subprocess.run(["containerd", "--version"], check=True, capture_output=True, text=True).stdout
    identity = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in archives]
    key = cache.key(version, base.parent.name if base else "", *identity)

    def make(out: Path) -> None:
        with step("Unpacking for the nodes: " + ", ".join(path.stem for path in archives)):
            if base:
                share(base, out)
            machine = Machine("unpacking", group, out)
            machine.boot()
            try:
                containerd(machine)
                for archive in archives:
                    import_image(machine, archive)
                machine.run("sh", "-c", "kill $(pidof containerd)")
                wait_until(lambda: not machine.find("containerd"), timeout=30, what="the end of containerd")
            finally:
                machine.kill()

    made = cache.entry(_KIND, key, make)
    os.utime(made)
    _prune()
    return made / _FOLDER


def _prune() -> None:
    """Keep those used last; what a node shares stays, as its links do."""
    made = [path for path in (cache.root() / _KIND).iterdir() if not path.name.startswith(".")]
    for path in sorted(made, key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(path, ignore_errors=True)


def share(prepared_folder: Path, disk: Path) -> None:
    """Give a node's disk that is still empty the images of `prepared_folder`."""
    target = disk / _FOLDER
    disk.mkdir(parents=True, exist_ok=True)
    linked = subprocess.run(
        ["cp", "--archive", "--link", prepared_folder, target], capture_output=True, text=True, check=False
    )
    if linked.returncode != 0:  # the cache is on another file system
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "--archive", prepared_folder, target], check=True)
    for database in prepared_folder.rglob("*.db"):
        if "snapshots" not in database.relative_to(prepared_folder).parts:
            own = target / database.relative_to(prepared_folder)
            own.unlink()
            shutil.copy2(database, own)
