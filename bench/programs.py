"""Programs under measurement: each on the processor it is given, with its log, ended with the benchmark."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.waiting import HopelessError

LOGS = Path("build/bench/log")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_END_SECONDS = 15.0


def processors() -> tuple[int, int]:
    """A processor for the server and one for its client; the same where there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


def pinned(processor: int, command: Sequence[str | Path]) -> list[str]:
    """The command, to run on one processor with all its threads."""
    return ["taskset", "--cpu-list", str(processor), *map(str, command)]


@contextmanager
def confined(pids: Iterable[int], processor: int) -> Iterator[None]:
    """Keep programs that run already on one processor, with all their threads, and let them go at the end."""
    everywhere = os.sched_getaffinity(0)
    pids = tuple(pids)
    _place(pids, {processor})
    try:
        yield
    finally:
        _place(pids, everywhere)


def _place(pids: Iterable[int], processors: set[int]) -> None:
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(ProcessLookupError):  # a thread may end meanwhile
                os.sched_setaffinity(int(thread.name), processors)


@contextmanager
def urgent() -> Iterator[None]:
    """Let this thread, and programs that it starts, go before others on their processor.

    For what takes the time and passes requests on, which is not what is measured. Without the right to do so
    nothing changes.
    """
    with contextlib.ExitStack() as undo:
        with contextlib.suppress(PermissionError):
            before = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, 0, before - 10)
            undo.callback(os.setpriority, os.PRIO_PROCESS, 0, before)
        yield


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    def check(self) -> None:
        """Raise HopelessError, with the end of its log, if it has ended."""
        if self.process.poll() is not None:
            last = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
            raise HopelessError(f"{self.name} ended with {self.process.returncode}:\n{last}")

    def cpu_seconds(self) -> float:
        """The processor time it has used so far, threads and children that ended included."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS_PER_SECOND


@contextmanager
def running(
    name: str,
    command: Sequence[str | Path],
    *,
    processor: int,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Program]:
    """Run a program on one processor. At the end it is asked to end, and killed if it doesn't in a while."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            pinned(processor, command),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
    try:
        yield Program(name, process, log)
    finally:
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
