"""The decision about one cluster: pure, total, and the only place that orders the stages.

`plan` takes one look (`Observed`), the spec to go by and the time, and says what to write, what to do and
when to look again. It reads no clock and does no I/O, so that everything it may ever decide can be tested.
"""

from datetime import datetime

from app.api.cluster import ClusterSpec
from app.plan.bootstrap import found
from app.plan.members import keep
from app.plan.observed import Observed
from app.plan.status import describe
from app.plan.step import Plan, Step, Trouble

SETTLED = 5.0
"""How often a settled cluster is looked at, in seconds: a dead etcd is noticed within 10 s."""

FORMING = 0.1
"""How often a cluster that is being founded is looked at once its containers run, in seconds."""

WAITING = 1.0
"""How often a cluster with a member that is being brought back is looked at, in seconds."""


def plan(observed: Observed, spec: ClusterSpec, *, now: datetime, invalid: str = "") -> Plan:
    """Decide what to do about a cluster.

    ``spec`` is the one to go by; ``invalid`` says why it is not the one in the custom resource, where that
    one breaks the rules (the webhook was bypassed) and the last accepted one stands in for it. ``now`` is in
    UTC and only dates conditions.
    """
    journal = observed.status.journal
    step = (found if journal.latch is None else keep)(observed, spec, journal)
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
    return Plan(
        status=describe(observed, spec, step, now=now),
        groups=groups,
        events=step.events if groups or step.journal != journal else (),
        requeue_after=_pace(observed, step),
    )


def _pace(observed: Observed, step: Step) -> float:
    record = step.journal.bootstrap
    if record is None:
        return SETTLED
    waits = [wait for wait in observed.waits.values() if wait > 0]
    if step.journal.latch is None:
        running = any(pod.running for pod in observed.pods.values())
        return min([FORMING if running else WAITING, *waits])
    complete = len(observed.answers) == len(record.members) and all(
        pod.ready for pod in observed.pods.values()
    )
    return min([SETTLED if complete else WAITING, *waits])
