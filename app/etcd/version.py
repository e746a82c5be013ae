"""etcd's versions: pure."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PATTERN: Final = re.compile(r"v*(\d+)\.(\d+)(?:\.(\d+))?(?:[-+].*)?")


class Version(NamedTuple):
    """A version of etcd. It compares with a tuple, so that ``version >= (3, 6)`` reads as it should."""

    major: int
    minor: int
    patch: int = 0

    @property
    def series(self) -> tuple[int, int]:
        """Major and minor: what decides which settings exist."""
        return (self.major, self.minor)


def parse(version: str) -> Version:
    """Read ``3.6.16``, ``v3.6.16-rc.0`` or ``3.6``; raises ValueError for anything else."""
    match = _PATTERN.fullmatch(version)
    if match is None:
        raise ValueError(f"not a version of etcd: {version!r}")
    return Version(int(match[1]), int(match[2]), int(match[3] or 0))
