"""The host's limits that several clusters beside each other run into, raised while there are any.

The kernel counts inotify instances per user, over all namespaces; each node has about ten, and 128 is the
usual limit. What it was is kept by the kernel too: on the root of the cgroup tree, until it is put back.
"""

import contextlib
import errno
import os
from pathlib import Path

from tests.cluster.cgroups import trees

_INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances")
_ENOUGH = 4096
_BEFORE = "trusted.etcd-operator-test.inotify"


def lift() -> None:
    """Raise the limits, if they are lower than what is needed; within `cgroups.exclusive()`."""
    now = int(_INSTANCES.read_text())
    if now < _ENOUGH:
        with contextlib.suppress(OSError):  # where this isn't allowed, there may still be room
            os.setxattr(trees()[0], _BEFORE, str(now).encode())
            _INSTANCES.write_text(str(_ENOUGH))


def restore() -> None:
    """Put the limits back as they were; within `cgroups.exclusive()`, when the last cluster is gone."""
    try:
        before = os.getxattr(trees()[0], _BEFORE).decode()
    except OSError as error:
        if error.errno == errno.ENODATA:
            return
        raise
    if _INSTANCES.read_text().strip() == str(_ENOUGH):  # and nobody else has set it since
        _INSTANCES.write_text(before)
    os.removexattr(trees()[0], _BEFORE)
