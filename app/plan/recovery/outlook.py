"""What the status says about a lost quorum: what goes on, what a person can order, why it is not done."""

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.losses import beyond_return, keepers, persistent
from app.plan.observed import Observed
from app.plan.recovery import anew
from app.plan.recovery.orders import (
    ANEW,
    DISCARDING,
    FENCING,
    FORCE,
    FORCING,
    GROWING,
    INSPECTING,
    RESTARTING,
    STOPPING,
    basis,
    exclusive,
    incident,
    objection,
    obstacle,
)

_DOING = {
    DISCARDING: "waiting until nothing of the former cluster runs any more; it is then founded anew, empty",
    FENCING: "waiting until no member runs",
    INSPECTING: "reading how far the log of each member that has its data reaches",
    FORCING: "making {survivor} forget the other members",
    STOPPING: "stopping {survivor} after it forgot the other members",
    RESTARTING: "starting {survivor} as the only member",
    GROWING: "growing from {survivor} to the size asked for; the claims of the others are kept until then",
}


def recovering(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[bool, str, str]:
    """Status, reason and message of the condition Recovering."""
    recovery = journal.recovery
    objected = anew.objection(observed, spec, journal) or objection(observed, spec, journal)
    if recovery is not None and recovery.step in _DOING:
        doing = _DOING[recovery.step].format(survivor=recovery.survivor)
        given_up = ", ".join(recovery.abandoned)
        lost = f"; {given_up} was chosen before and lost its data" if given_up else ""
        return True, recovery.step, f"{doing}{lost}"
    if objected:
        return False, "OrderIgnored", objected
    if recovery is None:
        return False, "NotRecovering", "no recovery is under way"
    if not recovery.survivor:
        return (
            False,
            "FoundedAnew",
            f"the cluster was founded anew, empty, after the incident {recovery.token}",
        )
    return False, "Recovered", f"the cluster went on with the data of {recovery.survivor}"


def way_out(observed: Observed, spec: ClusterSpec, journal: Journal) -> str:
    """What to add to the news of a lost quorum: what follows by itself, or what to order."""
    token = incident(journal)
    if not token or exclusive(journal):
        return ""
    if anew.possible(observed, spec, journal):
        left = ", ".join(keepers(observed, spec, journal)) if journal.latch else ""
        save = f"take a snapshot of {left} first, and " if left else ""
        return (
            ". Restore a backup, or to found the cluster anew, empty, "
            f"{save}annotate this EtcdCluster with {ANEW}={token}"
        )
    if not persistent(spec):
        return ""
    by_hand = f"annotate this EtcdCluster with {FORCE}={token}"
    return (
        _by_itself(observed, spec, journal, by_hand)
        if spec.recovers_alone
        else (f". If they never will be, {by_hand}")
    )


def _by_itself(observed: Observed, spec: ClusterSpec, journal: Journal, by_hand: str) -> str:
    if not beyond_return(observed, spec, basis(observed, spec, journal)):
        return (
            ". spec.recovery acts by itself only when so many claims are gone that no quorum can come back; "
            f"if none ever will, {by_hand}"
        )
    hindrance = obstacle(observed, spec, journal)
    if hindrance:
        return f". spec.recovery does not act yet: {hindrance}"
    return f". The cluster goes on with one member's data when this has lasted for {spec.replace_after:.0f} s"
