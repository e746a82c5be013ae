"""What is new in a status that a person would want to read in ``kubectl describe``.

Most events belong to something that is done. These belong to something that has become so: each is told when
the status that says so is written the first time.
"""

from app.api.status import ClusterStatus
from app.plan.step import Event


def news(before: ClusterStatus, after: ClusterStatus) -> tuple[Event, ...]:
    """Compare two statuses."""
    return (*_pause(before, after), *_refusal(before, after), *_leadership(before, after))


def _pause(before: ClusterStatus, after: ClusterStatus) -> tuple[Event, ...]:
    if before.control_paused == after.control_paused:
        return ()
    if after.control_paused:
        return (Event("Paused", "Pause", "spec.paused is true: nothing is done until it is false again"),)
    return (Event("Resumed", "Pause", "spec.paused is false again: the operator goes on"),)


def _refusal(before: ClusterStatus, after: ClusterStatus) -> tuple[Event, ...]:
    words = _invalid(after)
    if not words or words == _invalid(before):
        return ()
    return (Event("SpecInvalid", "Accept", words, type="Warning"),)


def _invalid(status: ClusterStatus) -> str:
    stalled = (one for one in status.conditions if one.type == "Stalled" and one.reason == "SpecInvalid")
    return next((one.message for one in stalled), "")


def _leadership(before: ClusterStatus, after: ClusterStatus) -> tuple[Event, ...]:
    """Tell who leads, where another one did before; etcd elects, and the operator may have asked for it."""
    if not before.leader or not after.leader or before.leader == after.leader:
        return ()
    return (Event("LeaderChanged", "Observe", f"{after.leader} leads, and no longer {before.leader}"),)
