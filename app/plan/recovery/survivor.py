"""A second choice, when the member whose data the cluster was to go on with loses it before it serves.

It takes proof, since two members that were both made to forget the others are two clusters of one id: the
claim is gone or is another one, etcd said twice that it can't read the data, or the user says that the member
runs nowhere and never will. And the member must have stopped. Then the logs of the others are read once more;
who was given up is not chosen again.
"""

from app.api.cluster import ClusterSpec
from app.api.status import Journal, Recovery
from app.plan.losses import REPEATED, lost
from app.plan.observed import Observed, Task
from app.plan.recovery.orders import FORCING, INSPECTING, RESTARTING, STOPPING, fenced_since
from app.plan.recovery.tasks import stop_members, stopped
from app.plan.roster import roster
from app.plan.step import Event, Step, Trouble


def second_choice(observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery) -> Step | None:
    """Go back to the logs where the survivor is proved to be lost; None where it is not."""
    if recovery.step not in {FORCING, STOPPING, RESTARTING}:
        return None
    survivor = recovery.survivor
    given_up = survivor in fenced_since(observed, recovery)
    why = _why(observed, spec, journal, recovery, given_up=given_up)
    if not why:
        return None
    running = _running(observed, survivor)
    if running and not given_up:
        helper = observed.helpers.get(Task.FORCE.pod(survivor))
        stops = stop_members(observed, (survivor,))
        if helper is not None and recovery.step == FORCING:  # at any other step it is a stray
            stops += stopped(helper)
        text = f"{survivor} is given up ({why}); waiting until {', '.join(running)} is gone"
        return Step(journal, (stops,), (Trouble("Recovering", text),))
    return Step(
        journal.model_copy(update=_back_to_the_logs(journal, recovery)),
        events=(
            Event(
                "RecoverySurvivorLost",
                "Recover",
                f"{survivor} is given up: {why}. The logs of the others are read",
                type="Warning",
            ),
        ),
    )


def _why(
    observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery, *, given_up: bool
) -> str:
    if given_up:
        return "it runs nowhere, as the user says"
    if lost(observed, spec, journal, recovery.survivor):
        return "it lost its data"
    return "etcd can't read its data" if len(recovery.unreadable) >= REPEATED else ""


def _running(observed: Observed, survivor: str) -> tuple[str, ...]:
    """The Pods on the survivor's data of which it is not proved that they are gone."""
    force = Task.FORCE.pod(survivor)
    names = [force] if force not in observed.absent_helpers else []
    if survivor in observed.pods or survivor not in observed.absent:
        names.append(survivor)
    return tuple(names)


def _back_to_the_logs(journal: Journal, recovery: Recovery) -> dict[str, object]:
    """The changes of the journal: those whom the survivor was to forget are members again."""
    latch = journal.latch
    if latch is not None and recovery.former is not None:
        latch = latch.model_copy(
            update={"members": recovery.former.members, "roster": recovery.former.roster}
        )
    known = roster(journal.model_copy(update={"latch": latch}))
    others = (
        *recovery.candidates,
        *(name for name in recovery.fenced if name in known and name not in recovery.candidates),
    )
    again = recovery.model_copy(
        update={
            "step": INSPECTING,
            "survivor": "",
            "abandoned": (*recovery.abandoned, recovery.survivor),
            "candidates": tuple(name for name in others if name != recovery.survivor),
            "unreadable": (),
            "former": None,
        }
    )
    return {"latch": latch, "recovery": again}
