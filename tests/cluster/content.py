"""Images on a node without loading them: a containerd folder with them in it, made once and shared by links.

Loading unpacks every file of every image, on each node, each time. All of it is read-only from then on, so
the nodes can share the files by hard links; only containerd's own databases are copied.
"""

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

_FOLDER = "containerd"


def prepared(archives: Sequence[Path], group: Group) -> Path:
    """A containerd folder with these images in it, in the cache; `group` is for the machine that makes it."""
    identity = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in sorted(archives)]
    version = subprocess.run(["containerd", "--version"], check=True, capture_output=True, text=True).stdout

    def make(out: Path) -> None:
        with step(f"Unpacking {len(archives)} images for the nodes"):
            machine = Machine("unpacking", group, out)
            machine.boot()
            try:
                containerd(machine)
                for archive in archives:
                    import_image(machine, archive)
                machine.run("sh", "-c", "kill $(pidof containerd)")
                wait_until(
                    lambda: machine.find("containerd") is None, timeout=30, what="the end of containerd"
                )
            finally:
                machine.kill()

    return cache.entry("containerd", cache.key(version, *identity), make) / _FOLDER


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
