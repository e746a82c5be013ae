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

from dataclasses import replace

from app.api.cluster import ClusterSpec
from app.api.status import Journal, Latch, Recovery
from app.etcd import identity
from app.plan.actions import Action, Quarantine
from app.plan.latching import serving, settle
from app.plan.losses import names_data
from app.plan.members import keep, revive
from app.plan.observed import Helper, Observed, Task
from app.plan.recovery.inspecting import inspect
from app.plan.recovery.orders import (
    DONE,
    FENCED,
    FENCING,
    FORCE,
    FORCING,
    GROWING,
    INSPECTING,
    MOST_TOKENS,
    RESTARTING,
    STOPPING,
    basis,
    candidates,
    exclusive,
    fenced,
    fenced_since,
    incident,
    mandate,
    objection,
)
from app.plan.recovery.survivor import second_choice
from app.plan.recovery.tasks import begin, launch, stop_members, stopped, why
from app.plan.roster import roster
from app.plan.step import Event, Step, Trouble


def follow_order(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step | None:
    """Begin the recovery that is ordered; None where there is none to begin."""
    order = mandate(observed, spec, journal)
    token, alone = order.token, order != observed.order
    if not token or token != incident(journal) or exclusive(journal):
        return None
    if not alone and objection(observed, spec, journal):
        return None
    before = journal.recovery or Recovery()
    journal = basis(observed, spec, journal)
    begun = Recovery(
        token=token,
        step=FENCING,
        fenced=tuple(sorted(order.fenced)),
        candidates=candidates(observed, spec, journal),
        quarantined=before.quarantined,
        consumed=(*before.consumed, token)[-MOST_TOKENS:],
    )
    by = "as spec.recovery says" if alone else "as ordered"
    text = f"The recovery from the incident {token} begins, {by}: all members are stopped"
    return Step(
        journal.model_copy(update={"recovery": begun, "intent": None}),
        events=(Event("RecoveryBegun", "Recover", text, type="Warning"),),
    )


def recover(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Decide the next step of a recovery at which nothing else is decided."""
    recovery, latch = journal.recovery, journal.latch
    if recovery is None or latch is None:
        return Step(journal)
    again = second_choice(observed, spec, journal, recovery)
    return again or _next(observed, spec, journal, recovery, latch)


def _next(observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery, latch: Latch) -> Step:
    match recovery.step:
        case "Fencing":
            return _fence(observed, journal, recovery)
        case "Inspecting":
            return inspect(observed, spec, journal, recovery)
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
        action
        for name, helper in observed.helpers.items()
        if name not in wanted
        for action in stopped(helper)
    )


def _fence(observed: Observed, journal: Journal, recovery: Recovery) -> Step:
    away = fenced(observed, journal)
    there = [
        name
        for name in roster(journal)
        if name not in away and (name in observed.pods or name not in observed.absent)
    ]
    if not there:
        return begin(journal, recovery, INSPECTING, "No member runs any more; their logs are read")
    text = (
        f"waiting until the Pods of {', '.join(there)} are gone; one on a node that is switched off for good "
        f"has to be named in the annotation {FENCED}, beside {FORCE}={recovery.token}"
    )
    return Step(journal, (stop_members(observed, roster(journal)),), (Trouble("Recovering", text),))


def _force(observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery, latch: Latch) -> Step:
    aside: tuple[Action, ...] = tuple(
        Quarantine(name, observed.volumes[name].uid, recovery.token)
        for name in recovery.quarantined
        if name in observed.volumes and not observed.volumes[name].quarantined
    )
    survivor = recovery.survivor
    volume = observed.volumes.get(survivor)
    if volume is not None and volume.quarantined:  # the second choice
        aside += (Quarantine(survivor, volume.uid, ""),)
    given_up = fenced_since(observed, recovery)
    readers = {Task.INSPECT.pod(name) for name in roster(journal) if name not in given_up}
    if aside or not readers <= observed.absent_helpers:
        # The strays are on their way out; a volume may be in use by one Pod only.
        return Step(journal, (aside,), (Trouble("Recovering", "the other claims are set aside"),))
    helper = observed.helpers.get(Task.FORCE.pod(survivor))
    if helper is not None and _alone(helper, latch.cluster_id, latch.members[survivor].id):
        return begin(journal, recovery, STOPPING, f"{survivor} serves alone and is stopped")
    if helper is not None and _unreadable(helper) and helper.pod.uid not in recovery.unreadable:
        noted = recovery.model_copy(update={"unreadable": (*recovery.unreadable, helper.pod.uid)})
        return Step(journal.model_copy(update={"recovery": noted}))
    text = (
        f"waiting for {survivor} to serve alone{why(helper)}; if its node is switched off for good, name it "
        f"in the annotation {FENCED}, beside {FORCE}={recovery.token}, and another one is chosen"
    )
    acts = launch(observed, spec, journal, Task.FORCE, survivor)
    return Step(journal, (acts,), (Trouble("Recovering", text),))


def _unreadable(helper: Helper) -> bool:
    return helper.pod.terminal and names_data(helper.said)


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
    return begin(
        journal,
        recovery.model_copy(update={"former": latch}),
        RESTARTING,
        f"{survivor} is started as the only member",
    )


def _restart(
    observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery, latch: Latch
) -> Step:
    answer = serving(observed, latch.cluster_id).get(recovery.survivor)
    ids = [member.id for member in observed.members or ()]
    if answer is None or answer.leader != answer.member_id or ids != [answer.member_id]:
        step = revive(observed, spec, journal)
        stuck = _waits_for_nothing(observed, recovery.survivor)
        return replace(step, groups=(stuck, *step.groups, *settle(observed, spec, journal)))
    after = begin(
        journal, recovery, GROWING, f"{recovery.survivor} serves; the cluster grows back to its size"
    )
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


def _waits_for_nothing(observed: Observed, survivor: str) -> tuple[Action, ...]:
    """Delete a Pod that waits for a claim which is being deleted, and which it keeps from going."""
    seen, volume = observed.pods.get(survivor), observed.volumes.get(survivor)
    if seen is None or seen.started or volume is None or not volume.terminating:
        return ()
    return stop_members(observed, (survivor,))
