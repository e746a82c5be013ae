"""Versions of etcd, and which of them may follow which.

Sources: etcd's upgrade guides (one minor version at a time, no way back by binary once every member runs the
new one) and its changelogs (3.5.26 and 3.6.11 are the least that 3.6 and 3.7 may be reached from; 3.5.0 to
3.5.2 and 3.5.5 corrupt data; the least patches without known vulnerabilities).
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

DEFAULT = "3.6.16"
"""What a new cluster runs if nothing else is said: the newest 3.6 patch that was tested."""

TESTED = {4: "3.4.23", 5: "3.5.35", 6: DEFAULT, 7: "3.7.3"}
"""The newest tested patch of each minor version of etcd 3 that is managed in full."""

OLDEST_MINOR = 2
"""etcd 3.2 is the oldest that is let in: the old operator's example says 3.2.13."""
UNTESTED_BELOW = min(TESTED)
NEWEST_MINOR = max(TESTED)

KNOWN_BAD = {(5, 0), (5, 1), (5, 2), (5, 5)}
"""Minor and patch of releases that corrupt or lose data (etcd's changelog; postmortem of 3.5.0 to 3.5.2)."""
SECURITY_FLOOR = {5: 33, 6: 14, 7: 1}
"""The least patch of a minor version without known vulnerabilities."""
PROMOTION_FLOOR = {5: 24}
"""The least patch of a minor version that writes all promotions of learners down (etcd#18347, etcd#19557)."""
LEAVING_PATCH = {5: 26, 6: 11}
"""The least patch of a minor version from which the next one may be reached."""

_PATTERN = re.compile(
    r"v*(\d{1,4})\.(\d{1,4})\.(\d{1,6})(?:-([0-9A-Za-z]+(?:[._-][0-9A-Za-z]+)*))?", re.ASCII
)


_REMEMBERED = 64
"""Characters; what is longer is no version that anybody has."""


@dataclass(frozen=True, slots=True, order=True)
class EtcdVersion:
    """A version of etcd; the suffix tells builds of one release apart and has no order of its own."""

    major: int
    minor: int
    patch: int
    suffix: str = ""

    def __str__(self) -> str:
        suffix = f"-{self.suffix}" if self.suffix else ""
        return f"{self.major}.{self.minor}.{self.patch}{suffix}"

    @property
    def minor_text(self) -> str:
        """The minor version as people write it, e.g. 3.6."""
        return f"{self.major}.{self.minor}"


def parse_version(text: Any) -> EtcdVersion | None:
    """Read ``3.6.16``, ``v3.6.16`` or ``3.6.16-build.1``; ``None`` for anything else."""
    if not isinstance(text, str):
        return None
    return _known(text) if len(text) <= _REMEMBERED else _parse(text)


def _parse(text: str) -> EtcdVersion | None:
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    major, minor, patch, suffix = match.groups()
    return EtcdVersion(int(major), int(minor), int(patch), suffix or "")


_known = lru_cache(maxsize=256)(_parse)


def bare(text: str) -> str:
    """Return a version without its leading "v", which never changes what it means."""
    return text.lstrip("v")


def image(repository: str, version: str) -> str:
    """Return the reference of the etcd image of a version."""
    return f"{repository}:v{bare(version)}"


def nearest_supported(version: EtcdVersion) -> str:
    """Return the tested version next to one that cannot be run."""
    if version.major < 3 or (version.major == 3 and version.minor < UNTESTED_BELOW):
        return TESTED[UNTESTED_BELOW]
    if version.major > 3:
        return TESTED[NEWEST_MINOR]
    return TESTED[min(version.minor, NEWEST_MINOR)]
