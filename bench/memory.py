"""How much memory a process holds, as the kernel counts it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_MIB = 1024.0
_STEADY_MIB = 0.5
_STEADY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Memory:
    """In MiB. `rss` counts every page that is resident, `pss` those shared with others only in part."""

    rss: float
    pss: float


def of(pid: int) -> Memory:
    """The memory of a process; raises FileNotFoundError once it has ended."""
    return parse(Path(f"/proc/{pid}/smaps_rollup").read_text())


def parse(text: str) -> Memory:
    """Read what /proc/<pid>/smaps_rollup says (https://docs.kernel.org/filesystems/proc.html)."""
    fields = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            fields[name] = int(value.split()[0]) / _MIB
    return Memory(rss=fields["Rss"], pss=fields["Pss"])


def settled(read: Callable[[], Memory], *, timeout: float = 120, every: float = 1.0) -> Memory:
    """Read again and again until RSS stayed within half a MiB for ten seconds, or for `timeout` seconds."""
    deadline = time.monotonic() + timeout
    reference = last = read()
    since = time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - since < _STEADY_SECONDS:
        time.sleep(every)
        last = read()
        if abs(last.rss - reference.rss) > _STEADY_MIB:
            reference, since = last, time.monotonic()
    return last
