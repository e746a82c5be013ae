"""Which member is replaced, if any, and why: its data is lost or bad, or it has been unhealthy for long.

One at a time, and only where the others can spare it. It is removed here; another one is added since the
cluster is then smaller than it is to be.
"""

from collections.abc import Iterator

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.actions import Via
from app.plan.corruption import corrupt
from app.plan.losses import lost, repeatable
from app.plan.membership.intents import Change, removing
from app.plan.membership.seats import Seats
from app.plan.observed import ListedMember, Observed
from app.plan.progress import stuck_for
from app.plan.step import Event, Trouble
from app.plan.symptoms import running_on, unhealthy


def replacement(
    observed: Observed, spec: ClusterSpec, journal: Journal, seats: Seats, via: Via
) -> Change | None:
    """Remove a member that has lost its data, or has been unhealthy for long while its peers were not."""
    bad = corrupt(observed, journal)
    for member in _worst_first(observed, spec, journal, seats, bad):
        proved = lost(observed, spec, journal, member.name)
        if not seats.may_remove(member):
            return Change(
                journal,
                trouble=Trouble(
                    "MemberDataLost" if proved else "MembersUnready",
                    f"{member.name} can't be replaced: too few of the other members are healthy",
                ),
            )
        if member.id in bad:
            why = "has data that differs from the others'"
        else:
            why = "lost its data" if proved else f"was not healthy for {spec.replace_after:.0f} s"
        return removing(journal, member, via, Event("ReplacingDeadMember", "Replace", f"{member.name} {why}"))
    return None


def _worst_first(
    observed: Observed, spec: ClusterSpec, journal: Journal, seats: Seats, bad: frozenset[int]
) -> Iterator[ListedMember]:
    yield from (
        member for member in seats.members if member.id in bad or lost(observed, spec, journal, member.name)
    )
    yield from (
        member
        for member in seats.voters
        if member.name not in seats.healthy
        and max(observed.ages.get(unhealthy(member.name), 0.0), stuck_for(observed, member.name))
        >= spec.replace_after
        and _may_be_replaced(observed, spec, member, seats)
    )


def _may_be_replaced(observed: Observed, spec: ClusterSpec, member: ListedMember, seats: Seats) -> bool:
    """Whether a long-unhealthy member is one that a new Pod elsewhere may cure.

    Not one that could not be scheduled or whose image can't be had, nor one that keeps ending for want of
    memory or since it was told the wrong thing: its successor would fare no better. Not one whose settings
    none of its healthy peers runs with: that is a change to be reverted.
    """
    pod = observed.pods.get(member.name)
    if pod is None:
        return True
    if pod.trouble is not None and pod.trouble[0] in {"MemberUnschedulable", "ImagePullFailed"}:
        return False
    runs_on = pod.running and observed.ages.get(running_on(pod), 0.0) >= spec.replace_after
    if repeatable(pod) and not runs_on:
        return False
    return any(
        observed.pods[name].revision == pod.revision for name in seats.healthy if name in observed.pods
    )
