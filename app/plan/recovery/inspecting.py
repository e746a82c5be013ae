"""Reading the logs of members that do not run, and choosing the one whose data the cluster goes on with.

The last log is that of the highest term, and among those the longest: an uncommitted tail of an older term
may be longer than what was acknowledged since (Raft, section 5.4.1).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.api.cluster import ClusterSpec
from app.api.status import Journal, Latch, Recovery
from app.etcd.wal import Tail
from app.plan.actions import Action
from app.plan.losses import lost
from app.plan.observed import Helper, Observed, Task
from app.plan.recovery.orders import ANEW, FORCING, INSPECTING, fenced_since
from app.plan.recovery.tasks import begin, launch, why
from app.plan.step import Step, Trouble


@dataclass(frozen=True, slots=True)
class Found:
    """How far a member's log reaches; ``fault`` says why the cluster can't go on with it."""

    reach: tuple[int, int] = (0, 0)
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the logs say so far, which are still to be read, and what is to be done for that."""

    found: Mapping[str, Found]
    waiting: tuple[str, ...]
    acts: tuple[Action, ...]

    @property
    def sound(self) -> Mapping[str, tuple[int, int]]:
        """The logs that the cluster could go on with."""
        return {name: one.reach for name, one in self.found.items() if not one.fault}


def survey(observed: Observed, spec: ClusterSpec, journal: Journal) -> Survey:
    """Look at the log of every candidate that has its data and that the user has not given up."""
    recovery, latch = journal.recovery, journal.latch
    found: dict[str, Found] = {}
    acts: list[Action] = []
    waiting: list[str] = []
    if recovery is None or latch is None:
        return Survey(found, (), ())
    away = fenced_since(observed, recovery) | frozenset(recovery.abandoned)
    for name in recovery.candidates:
        if name in away or lost(observed, spec, journal, name):
            continue
        volume = observed.volumes.get(name)
        helper = observed.helpers.get(Task.INSPECT.pod(name))
        if volume is None:
            waiting.append(f"{name} (whether its claim exists is not known yet)")
        elif volume.terminating:
            acts += launch(observed, spec, journal, Task.INSPECT, name)
        elif helper is not None and helper.pod.terminal and helper.said:
            found[name] = _read(helper, latch)
        else:
            waiting.append(f"{name}{why(helper)}")
            acts += launch(observed, spec, journal, Task.INSPECT, name)
    return Survey(found, tuple(waiting), tuple(acts))


def fruitless(observed: Observed, spec: ClusterSpec, journal: Journal) -> bool:
    """Whether all logs have been read, and the cluster can go on with none."""
    if journal.recovery is None or journal.recovery.step != INSPECTING:
        return False
    logs = survey(observed, spec, journal)
    return not logs.waiting and not logs.sound


def inspect(observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery) -> Step:
    """Have the logs read; once all have been, choose."""
    logs = survey(observed, spec, journal)
    if logs.waiting:
        text = f"waiting for the log of {', '.join(logs.waiting)} to be read"
        return Step(journal, (logs.acts,), (Trouble("Recovering", text),))
    sound = logs.sound
    if not sound:
        faults = [f"{name}: {one.fault}" for name, one in logs.found.items()]
        faults += [f"{name}: it lost its data after it was chosen" for name in recovery.abandoned]
        text = (
            f"there is no log that the cluster could go on with: {'; '.join(faults) or 'no claim is left'}. "
            f"Restore a backup, or annotate with {ANEW}={recovery.token} to found the cluster anew, empty"
        )
        return Step(journal, (logs.acts,), (Trouble("RecoveryImpossible", text, stalled=True),))
    survivor = max(sorted(sound), key=lambda name: sound[name])
    chosen = recovery.model_copy(
        update={
            "survivor": survivor,
            "quarantined": tuple(sorted(name for name in observed.volumes if name != survivor)),
        }
    )
    term, index = sound[survivor]
    text = f"The cluster goes on with {survivor}, whose log is the last: term {term}, index {index}"
    return begin(journal, chosen, FORCING, text)


def _read(helper: Helper, latch: Latch) -> Found:
    """Read the last words of a Pod that has inspected a log."""
    try:
        said: Any = json.loads(helper.said)
        whose = (said["clusterID"], said["memberID"])
        reach = (int(said["term"]), int(said["index"]))
        tail = said["tail"]
    except (ValueError, KeyError, TypeError):
        return Found(fault=helper.said)
    if whose != (latch.cluster_id, latch.members[helper.member].id):
        return Found(fault=f"it is the log of member {whose[1]} of cluster {whose[0]}")
    return Found(reach, "its end is damaged" if tail == Tail.DAMAGED else "")
