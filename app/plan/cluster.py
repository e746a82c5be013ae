"""The decision about one cluster: pure, total, and the only place that orders the stages.

`plan` takes one look (`Observed`), the spec to go by and the time, and says what to write, what to do and
when to look again. It reads no clock and does no I/O, so that everything it may ever decide can be tested.
"""

from dataclasses import replace
from datetime import datetime

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.founding.bootstrap import found
from app.plan.news import news
from app.plan.observed import Observed
from app.plan.recovery.anew import discard, follow_anew
from app.plan.recovery.incidents import follow
from app.plan.recovery.orders import DISCARDING, exclusive
from app.plan.recovery.steps import follow_order, grow_back, recover, strays
from app.plan.roster import agreed, listed, roster
from app.plan.status import describe
from app.plan.step import Plan, Step, Trouble
from app.plan.symptoms import joining

SETTLED = 5.0
"""How often a settled cluster is looked at, in seconds: a dead etcd is noticed within 10 s."""

FORMING = 0.1
"""How often a cluster is looked at while containers run that are about to serve, in seconds."""

WAITING = 1.0
"""How often a cluster is looked at that waits for something else, in seconds."""

SHARE = 0.05
"""How often a learner that runs is looked at, as a share of the time that it has been catching up."""


def plan(observed: Observed, spec: ClusterSpec, *, now: datetime, invalid: str = "") -> Plan:
    """Decide what to do about a cluster.

    ``spec`` is the one to go by; ``invalid`` says why it is not the one in the custom resource, where that
    one breaks the rules (the webhook was bypassed) and the last accepted one stands in for it. ``now`` is in
    UTC and only dates conditions.
    """
    observed = agreed(observed)
    journal = observed.status.journal
    step = follow(observed, _decide(observed, spec, journal))
    if invalid:
        step = Step(
            step.journal,
            step.groups,
            (Trouble("SpecInvalid", invalid, stalled=True), *step.troubles),
            step.events,
        )
    groups = tuple(group for group in step.groups if group)
    if spec.paused or observed.namespace_ending:
        groups = ()
    after = describe(observed, spec, step, now=now)
    told = step.events if groups or step.journal != journal else ()
    return Plan(
        status=after,
        groups=groups,
        events=(*news(observed.status, after), *told),
        requeue_after=_pace(observed, spec, step),
    )


def _decide(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Choose the stage: founding, an ordered recovery, or keeping what is there."""
    idle = spec.paused or observed.namespace_ending
    begun = None if idle else follow_anew(observed, spec, journal) or follow_order(observed, spec, journal)
    if begun is not None:
        return begun
    if idle and exclusive(journal):
        return Step(journal)
    step = _stage(observed, spec, journal)
    # What is left of a recovery goes first, and by the step that was written down, not the one decided now.
    return replace(step, groups=(strays(observed, journal), *step.groups))


def _stage(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    if journal.recovery is not None and journal.recovery.step == DISCARDING:
        return discard(observed, spec, journal, journal.recovery)
    if journal.latch is None:
        return found(observed, spec, journal)
    if exclusive(journal):
        return recover(observed, spec, journal)
    return grow_back(observed, spec, journal)


def _pace(observed: Observed, spec: ClusterSpec, step: Step) -> float:
    if step.journal.bootstrap is None:
        return SETTLED
    members = roster(step.journal)
    pods = [observed.pods[name] for name in members if name in observed.pods]
    joiners = [member.name for member in listed(observed).values() if member.learner]
    complete = len(observed.answers) == len(members) == spec.size and all(pod.ready for pod in pods)
    pace = SETTLED if complete and not joiners else WAITING
    running = {pod.name for pod in pods if pod.running}
    if step.journal.latch is None and running - observed.answers.keys():
        pace = FORMING
    for name in running.intersection(joiners):
        # A learner takes what it takes; what is lost by looking seldom is a share of that.
        pace = min(pace, max(FORMING, observed.ages.get(joining(name), 0.0) * SHARE))
    return min([pace, *(wait for wait in observed.waits.values() if wait > 0)])
