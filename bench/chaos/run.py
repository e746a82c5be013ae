"""One run: a cluster on volumes, clients, faults, and the verdict."""

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from bench.chaos.clients import Clients
from bench.chaos.history import Kind, Operation, Outcome, longest_gap
from bench.chaos.inflict import Inflicted, Tormentor
from bench.chaos.linearizable import Violation, violations
from bench.chaos.schedule import draw
from tests.cluster.errors import HarnessError
from tests.cluster.progress import step
from tests.cluster.waiting import NotInTimeError, wait_until
from tests.e2e.installation import Installation
from tests.e2e.subject import CLAIM, VERSION, Subject

AVAILABLE_SECONDS = 60.0
"""How long after the last fault the cluster may take until it serves again and says so."""

SETTLED_SECONDS = 300.0
"""How long it may take until all is as the spec says."""

AUDIT_SECONDS = 120.0
SIZE = 3


@dataclass(slots=True)
class Report:
    """What a run found."""

    seed: int
    history: list[Operation] = field(default_factory=list)
    faults: list[Inflicted] = field(default_factory=list)
    available_after: float = 0.0
    settled_after: float = 0.0
    longest_gap: float = 0.0
    strangers: int = 0
    lost: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    """What went wrong otherwise, in words."""

    @property
    def failures(self) -> list[str]:
        """Everything that must not be; empty for a good run."""
        return [
            *(f"an acknowledged write is lost: {key}" for key in self.lost),
            *(f"not linearizable: {one}" for one in self.violations),
            *self.complaints,
        ]

    def summary(self) -> str:
        """The run in a few lines."""
        outcomes = Counter((one.kind, one.outcome) for one in self.history)
        writes = ", ".join(f"{outcomes[(Kind.WRITE, outcome)]} {outcome}" for outcome in Outcome)
        done = Counter(one.fault for one in self.faults if not one.left_out)
        left_out = sum(bool(one.left_out) for one in self.faults)
        lines = (
            f"Seed {self.seed}: writes: {writes}; reads: {outcomes[(Kind.READ, Outcome.OK)]}",
            "Faults: " + ", ".join(f"{fault} x {number}" for fault, number in done.items()),
            f"Left out: {left_out}; answers of strangers: {self.strangers}",
            f"Longest time without an acknowledged write: {self.longest_gap:.1f} s",
            f"After the last fault available in {self.available_after:.1f} s",
            f"After the last fault settled in {self.settled_after:.1f} s",
        )
        return "\n".join([*lines, *(self.failures or ["Nothing lost, linearizable"])])


def run(subject: Subject, operator: Installation, *, seed: int, seconds: float) -> Report:
    """Torment a cluster that does not exist yet for so long; it is there still when this returns.

    Raises HarnessError where it can't even be founded, or where a fault could not be undone.
    """
    report = Report(seed)
    subject.apply(size=SIZE, version=VERSION, pod={"persistentVolumeClaimSpec": CLAIM})
    subject.wait_ready(timeout=120)
    clients = Clients(lambda: addresses(subject), int(subject.status["clusterID"], 16), seed)
    tormentor = Tormentor(subject, operator)
    begun = time.monotonic()
    clients.start()
    try:
        with step(f"Chaos with the seed {seed} for {seconds:.0f} s"):
            tormentor.run(draw(seed, seconds), seconds=seconds)
        if tormentor.broken:
            raise HarnessError("Faults could not be undone: " + "; ".join(tormentor.broken))
        _recover(subject, clients, report)
    finally:
        clients.stop()
        report.history, report.faults = clients.history, tormentor.log
        report.strangers = clients.strangers
        report.longest_gap, _ = longest_gap(clients.history, begin=begun, end=time.monotonic())
    _judge(clients, report)
    return report


def addresses(subject: Subject) -> list[str]:
    """Where the members are now."""
    pods = subject.pods().values()
    return [pod["status"]["podIP"] for pod in pods if pod.get("status", {}).get("podIP")]


def _recover(subject: Subject, clients: Clients, report: Report) -> None:
    """Wait until the cluster is what it was before; the clients go on meanwhile."""
    undone = time.monotonic()
    before = len(clients.history)

    def edited(*, paused: bool) -> bool:
        subject.patch(paused=paused, size=SIZE)
        return True

    def serves() -> bool:
        writes = (one for one in clients.history[before:] if one.kind is Kind.WRITE)
        return any(one.outcome is Outcome.OK for one in writes) and subject.says("Available")

    try:
        # What the status says may be from before the last fault; not what it says of a spec that is new. The
        # last fault may have been the end of all webhooks, and then edits are refused for a while.
        for paused in (True, False):
            wait_until(partial(edited, paused=paused), timeout=AVAILABLE_SECONDS, what="an edit to be let in")
        left = max(0.0, undone + AVAILABLE_SECONDS - time.monotonic())
        wait_until(serves, timeout=left, what="the cluster to be available again")
        report.available_after = time.monotonic() - undone
        wait_until(subject.ready, timeout=SETTLED_SECONDS, what="the cluster to be as its spec says")
        report.settled_after = time.monotonic() - undone
    except NotInTimeError as error:
        report.complaints.append(f"{error}\n{subject.explained()}")


def _judge(clients: Clients, report: Report) -> None:
    with step(f"Reading {len(clients.acknowledged)} acknowledged writes and all other keys"):
        try:
            clients.read_everything(seconds=AUDIT_SECONDS)
        except TimeoutError:
            report.complaints.append("the keys could not be read in the end")
            return
    report.lost = clients.lost
    report.violations = violations(clients.history)


def write(report: Report, folder: Path) -> None:
    """Keep what a run did, for whoever looks for the reason of a failure."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("history", report.history), ("faults", report.faults)):
        lines = [msgspec.json.encode(row) for row in rows]
        (folder / f"{report.seed}-{name}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (folder / f"{report.seed}-summary.txt").write_text(report.summary() + "\n")
