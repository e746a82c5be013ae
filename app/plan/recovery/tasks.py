"""What the steps of a recovery have in common: a record that a step begins, and Pods that do one task."""

from app.api.cluster import ClusterSpec
from app.api.status import Journal, Recovery
from app.plan.actions import Action, CreateHelper, DeletePod
from app.plan.observed import Helper, Observed, Task
from app.plan.starting import pod
from app.plan.step import Event, Step


def begin(journal: Journal, recovery: Recovery, step: str, note: str) -> Step:
    """Write down that a step begins; what it takes is done from the next look on."""
    begun = recovery.model_copy(update={"step": step})
    return Step(
        journal.model_copy(update={"recovery": begun}), events=(Event(f"Recovery{step}", "Recover", note),)
    )


def launch(
    observed: Observed, spec: ClusterSpec, journal: Journal, task: Task, member: str
) -> tuple[Action, ...]:
    """Create the Pod of a task, or make room for another one where it ended without a result.

    No Pod starts on a claim that is being deleted, and one that waits for it would keep it from going.
    """
    name = task.pod(member)
    helper = observed.helpers.get(name)
    volume = observed.volumes.get(member)
    going = volume is not None and volume.terminating
    if helper is None:
        wait = (
            volume is None
            or going
            or name not in observed.absent_helpers
            or observed.waits.get(name, 0.0) > 0
        )
        token = journal.recovery.token if journal.recovery else ""
        return () if wait else (CreateHelper(pod(member, observed.cluster, spec, journal), task, token),)
    if helper.pod.terminal or (going and not helper.pod.started):
        return stopped(helper)
    return ()


def stopped(helper: Helper) -> tuple[Action, ...]:
    """Delete a Pod of a recovery, unless it is on its way out."""
    if helper.pod.terminating:
        return ()
    return (DeletePod.of(helper.pod),)


def stop_members(observed: Observed, names: tuple[str, ...]) -> tuple[Action, ...]:
    """Delete the Pods of these members that are there and not on their way out."""
    return tuple(
        DeletePod.of(observed.pods[name])
        for name in names
        if name in observed.pods and not observed.pods[name].terminating
    )


def why(helper: Helper | None) -> str:
    """What keeps a Pod of a recovery from doing its task, in brackets; empty for nothing known."""
    words = ": ".join(filter(None, (helper.pod.trouble or ()))) if helper is not None else ""
    return f" ({words})" if words else ""
