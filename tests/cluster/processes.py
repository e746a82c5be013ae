"""What the kernel says of processes; a process that ends meanwhile is no error."""

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import msgspec


class Process(msgspec.Struct, frozen=True):
    """One process for good: a number is used again, so it goes with its start."""

    pid: int
    started: int
    """In clock ticks since the machine's start."""

    @classmethod
    def of(cls, pid: int) -> "Process | None":
        """The process that has this number now, if it hasn't ended (whether or not its parent knows)."""
        try:
            after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = after_name.split()
        return None if fields[0] == "Z" else cls(pid=pid, started=int(fields[19]))

    @property
    def alive(self) -> bool:
        return Process.of(self.pid) == self

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it still lives."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def namespaced_ids(pid: int) -> list[int]:
    """A process's number in each process namespace that it is in, from ours inward."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            return [int(number) for number in line.split()[1:]]
    return []


def process_1_first(pids: Iterable[int]) -> tuple[int, ...]:
    """In the order of their numbers in their own namespace."""
    return tuple(sorted(pids, key=lambda pid: (namespaced_ids(pid) or [0])[-1]))


def program(pid: int) -> str:
    """The name of the program that a process runs, as it was called."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return Path(os.fsdecode(command.split(b"\0", 1)[0])).name
