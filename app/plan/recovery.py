"""Recovery from a permanent loss of quorum, ordered by the user.

No member may run while etcd is made to forget members: a member that was forgotten and runs on would found a
second cluster of the same id with the others, and what it acknowledges is lost (seen with etcd 3.7). So the
order of steps is: stop all members and prove it, read from the logs whose is the last by (term, index), set
the other claims aside, let that one forget the others, stop it, start it as it always started, let the
cluster grow by learners, and only then delete the claims that were set aside.

Each step is written to the journal before anything is done for it, and what was chosen is never chosen anew.
The Pod that forgets runs once: if the kubelet started it again, it would forget members that have been added
since.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from app.api.cluster import ClusterSpec
from app.api.status import Journal, Latch, Recovery
from app.etcd import identity
from app.etcd.wal import Tail
from app.plan.actions import Action, CreateHelper, DeletePod, Quarantine
from app.plan.latching import serving, settle
from app.plan.members import keep, revive
from app.plan.observed import Helper, Observed, Task
from app.plan.orders import (
    DONE,
    FENCED,
    FENCING,
    FORCING,
    GROWING,
    INSPECTING,
    RESTARTING,
    STOPPING,
    candidates,
    exclusive,
    fenced,
    incident,
    objection,
)
from app.plan.roster import roster
from app.plan.starting import pod
from app.plan.step import Event, Step, Trouble

MOST_TOKENS = 64
"""How many consumed tokens are kept, as many as the status has room for."""


def follow_order(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step | None:
    """Begin the recovery that is ordered; None where there is none to begin."""
    token = observed.order.token
    if not token or token != incident(journal) or exclusive(journal) or objection(observed, spec, journal):
        return None
    before = journal.recovery or Recovery()
    begun = Recovery(
        token=token,
        step=FENCING,
        fenced=tuple(sorted(observed.order.fenced)),
        candidates=candidates(observed, spec, journal),
        quarantined=before.quarantined,
        consumed=(*before.consumed, token)[-MOST_TOKENS:],
    )
    text = f"The recovery from the incident {token} begins: all members are stopped"
    return Step(
        journal.model_copy(update={"recovery": begun, "intent": None}),
        events=(Event("RecoveryBegun", "Recover", text, type="Warning"),),
    )


def recover(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Decide the next step of a recovery at which nothing else is decided."""
    recovery, latch = journal.recovery, journal.latch
    if recovery is None or latch is None:
        return Step(journal)
    match recovery.step:
        case "Fencing":
            return _fence(observed, journal, recovery)
        case "Inspecting":
            return _inspect(observed, spec, journal, recovery, latch)
        case "Forcing":
            return _force(observed, spec, journal, recovery, latch)
        case "Stopping":
            return _stop(observed, journal, recovery, latch)
        case _:
            return _restart(observed, spec, journal, recovery, latch)


def grow_back(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Keep the members as ever; with the cluster complete and nothing set aside, the recovery is over."""
    step = keep(observed, spec, journal)
    recovery, latch = step.journal.recovery, step.journal.latch
    if recovery is None or latch is None or recovery.step != GROWING or observed.members is None:
        return step
    healthy = serving(observed, latch.cluster_id)
    complete = len(observed.members) == spec.size and all(
        not member.learner and member.name in healthy for member in observed.members
    )
    if not complete or any(name in observed.volumes for name in recovery.quarantined):
        return step
    over = Recovery(token=recovery.token, step=DONE, survivor=recovery.survivor, consumed=recovery.consumed)
    text = f"The cluster has its size again, with the data of {recovery.survivor}"
    return replace(
        step,
        journal=step.journal.model_copy(update={"recovery": over}),
        events=(*step.events, Event("RecoveryComplete", "Recover", text)),
    )


def strays(observed: Observed, journal: Journal) -> tuple[Action, ...]:
    """Delete what a recovery left that is at no step where it is needed: a late one must not run any more."""
    wanted: set[str] = set()
    recovery = journal.recovery
    if recovery is not None and recovery.step == INSPECTING:
        wanted = {Task.INSPECT.pod(name) for name in roster(journal)}
    elif recovery is not None and recovery.step == FORCING:
        wanted = {Task.FORCE.pod(recovery.survivor)}
    return tuple(
        DeletePod(name, helper.pod.uid, helper.pod.resource_version)
        for name, helper in observed.helpers.items()
        if name not in wanted and not helper.pod.terminating
    )


def _fence(observed: Observed, journal: Journal, recovery: Recovery) -> Step:
    away = fenced(observed, journal)
    there = [
        name
        for name in roster(journal)
        if name not in away and (name in observed.pods or name not in observed.absent)
    ]
    if not there:
        return _at(journal, recovery, INSPECTING, "No member runs any more; their logs are read")
    stops = tuple(
        DeletePod(name, observed.pods[name].uid, observed.pods[name].resource_version)
        for name in roster(journal)
        if name in observed.pods and not observed.pods[name].terminating
    )
    text = (
        f"waiting until the Pods of {', '.join(there)} are gone; one on a node that is switched off for good "
        f"has to be named in the annotation {FENCED}"
    )
    return Step(journal, (stops,), (Trouble("Recovering", text),))


@dataclass(frozen=True, slots=True)
class _Found:
    """How far a member's log reaches; ``fault`` says why the cluster can't go on with it."""

    reach: tuple[int, int] = (0, 0)
    fault: str = ""


def _inspect(
    observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery, latch: Latch
) -> Step:
    found: dict[str, _Found] = {}
    acts: list[Action] = []
    waiting: list[str] = []
    away = fenced(observed, journal) - set(recovery.fenced)
    for name in recovery.candidates:
        if name in away or name not in observed.volumes:
            continue
        helper = observed.helpers.get(Task.INSPECT.pod(name))
        if helper is not None and helper.pod.terminal and helper.said:
            found[name] = _read(helper, latch)
            continue
        why = ": ".join(filter(None, (helper.pod.trouble or ()))) if helper else ""
        waiting.append(f"{name} ({why})" if why else name)
        acts += _launch(observed, spec, journal, Task.INSPECT, name)
    if waiting:
        text = f"waiting for the log of {', '.join(waiting)} to be read"
        return Step(journal, (tuple(acts),), (Trouble("Recovering", text),))
    sound = {name: one.reach for name, one in found.items() if not one.fault}
    if not sound:
        faults = "; ".join(f"{name}: {one.fault}" for name, one in found.items()) or "no claim is left"
        text = f"there is no log that the cluster could go on with: {faults}. Restore a backup"
        return Step(journal, troubles=(Trouble("RecoveryImpossible", text, stalled=True),))
    survivor = max(sorted(sound), key=lambda name: sound[name])
    chosen = recovery.model_copy(
        update={
            "survivor": survivor,
            "quarantined": tuple(sorted(name for name in observed.volumes if name != survivor)),
        }
    )
    term, index = sound[survivor]
    text = f"The cluster goes on with {survivor}, whose log is the last: term {term}, index {index}"
    return _at(journal, chosen, FORCING, text)


def _read(helper: Helper, latch: Latch) -> _Found:
    """Read the last words of a Pod that has inspected a log."""
    try:
        said: Any = json.loads(helper.said)
        whose = (said["clusterID"], said["memberID"])
        reach = (int(said["term"]), int(said["index"]))
        tail = said["tail"]
    except (ValueError, KeyError, TypeError):
        return _Found(fault=helper.said)
    if whose != (latch.cluster_id, latch.members[helper.member].id):
        return _Found(fault=f"it is the log of member {whose[1]} of cluster {whose[0]}")
    return _Found(reach, "its end is damaged" if tail == Tail.DAMAGED else "")


def _force(observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery, latch: Latch) -> Step:
    aside = tuple(
        Quarantine(name, observed.volumes[name].uid, recovery.token)
        for name in recovery.quarantined
        if name in observed.volumes and not observed.volumes[name].quarantined
    )
    survivor = recovery.survivor
    readers = {Task.INSPECT.pod(name) for name in roster(journal)}
    if aside or not readers <= observed.absent_helpers:
        # The strays are on their way out; a volume may be in use by one Pod only.
        return Step(journal, (aside,), (Trouble("Recovering", "the other claims are set aside"),))
    helper = observed.helpers.get(Task.FORCE.pod(survivor))
    if helper is not None and _alone(helper, latch.cluster_id, latch.members[survivor].id):
        return _at(journal, recovery, STOPPING, f"{survivor} serves alone and is stopped")
    why = ": ".join(filter(None, (helper.pod.trouble or ()))) if helper else ""
    text = f"waiting for {survivor} to serve alone{f' ({why})' if why else ''}"
    acts = _launch(observed, spec, journal, Task.FORCE, survivor)
    return Step(journal, (tuple(acts),), (Trouble("Recovering", text),))


def _alone(helper: Helper, cluster_id: str, member_id: str) -> bool:
    answer = helper.answer
    return (
        answer is not None
        and identity.text(answer.cluster_id) == cluster_id
        and identity.text(answer.member_id) == member_id
        and answer.leader == answer.member_id
        and helper.members is not None
        and [member.id for member in helper.members] == [answer.member_id]
    )


def _stop(observed: Observed, journal: Journal, recovery: Recovery, latch: Latch) -> Step:
    survivor = recovery.survivor
    if Task.FORCE.pod(survivor) not in observed.absent_helpers:
        return Step(journal, troubles=(Trouble("Recovering", f"waiting until {survivor} has stopped"),))
    alone = latch.model_copy(update={"members": {survivor: latch.members[survivor]}, "roster": (survivor,)})
    journal = journal.model_copy(update={"latch": alone})
    return _at(journal, recovery, RESTARTING, f"{survivor} is started as the only member")


def _restart(
    observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery, latch: Latch
) -> Step:
    answer = serving(observed, latch.cluster_id).get(recovery.survivor)
    ids = [member.id for member in observed.members or ()]
    if answer is None or answer.leader != answer.member_id or ids != [answer.member_id]:
        step = revive(observed, spec, journal)
        return replace(step, groups=(*step.groups, *settle(observed, spec, journal)))
    after = _at(journal, recovery, GROWING, f"{recovery.survivor} serves; the cluster grows back to its size")
    if answer.revision >= latch.revision:
        return after
    # What was acknowledged on members that are gone can't be had any more, and the user chose to go on.
    known = latch.model_copy(update={"revision": answer.revision})
    text = f"Revision {latch.revision} was seen before, and {recovery.survivor} has {answer.revision}"
    return replace(
        after,
        journal=after.journal.model_copy(update={"latch": known}),
        events=(*after.events, Event("DataLost", "Recover", text, type="Warning")),
    )


def _launch(
    observed: Observed, spec: ClusterSpec, journal: Journal, task: Task, member: str
) -> tuple[Action, ...]:
    """Create the Pod of a task, or make room for another one where it ended without a result."""
    name = task.pod(member)
    helper = observed.helpers.get(name)
    if helper is None:
        wait = name not in observed.absent_helpers or observed.waits.get(name, 0.0) > 0
        token = journal.recovery.token if journal.recovery else ""
        start = pod(member, observed.cluster, spec, journal)
        return () if wait else (CreateHelper(start, task, token),)
    if helper.pod.terminal and not helper.pod.terminating:
        return (DeletePod(name, helper.pod.uid, helper.pod.resource_version),)
    return ()


def _at(journal: Journal, recovery: Recovery, step: str, note: str) -> Step:
    """Write down that a step begins; what it takes is done from the next look on."""
    begun = recovery.model_copy(update={"step": step})
    return Step(
        journal.model_copy(update={"recovery": begun}), events=(Event(f"Recovery{step}", "Recover", note),)
    )
