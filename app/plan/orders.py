"""Orders to recover from a loss of quorum, and why one is not followed.

The user names the incident in an annotation of the EtcdCluster, and in another one the members that the
operator can't know to be stopped: those whose Pod has not run since it was made, so that an earlier process
may still run on a node that nobody hears of. An order is followed once; its token is kept.
"""

from collections.abc import Mapping

from app.api.base import GROUP
from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.losses import lost, persistent
from app.plan.observed import Observed, Order
from app.plan.roster import roster

FORCE = f"{GROUP}/force-new-cluster"
FENCED = f"{GROUP}/fenced-members"

FENCING = "Fencing"
INSPECTING = "Inspecting"
FORCING = "Forcing"
STOPPING = "Stopping"
RESTARTING = "Restarting"
GROWING = "Growing"
DONE = "Done"

_DOING = {
    FENCING: "waiting until no member runs",
    INSPECTING: "reading how far the log of each member that has its data reaches",
    FORCING: "making {survivor} forget the other members",
    STOPPING: "stopping {survivor} after it forgot the other members",
    RESTARTING: "starting {survivor} as the only member",
    GROWING: "growing from {survivor} to the size asked for; the claims of the others are kept until then",
}


def read_order(annotations: Mapping[str, str]) -> Order:
    """Read what the annotations of a custom resource order."""
    named = (name.strip() for name in annotations.get(FENCED, "").split(","))
    return Order(annotations.get(FORCE, "").strip(), frozenset(filter(None, named)))


def incident(journal: Journal) -> str:
    """The token of the incident that lasts; empty for none."""
    return journal.incident.token if journal.incident else ""


def exclusive(journal: Journal) -> bool:
    """Whether a recovery is at a step at which nothing else is decided about the cluster."""
    step = journal.recovery.step if journal.recovery else ""
    return step in {FENCING, INSPECTING, FORCING, STOPPING, RESTARTING}


def fenced(observed: Observed, journal: Journal) -> frozenset[str]:
    """The members of which the user said that they run nowhere, when ordering or since."""
    recovery = journal.recovery
    if recovery is None or not exclusive(journal):
        return observed.order.fenced
    later = observed.order.fenced if observed.order.token == recovery.token else frozenset()
    return frozenset(recovery.fenced) | later


def candidates(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[str, ...]:
    """The members whose data the cluster could go on with: on the claim that they served from.

    Not a learner: forced to be alone it does not come up (tried with etcd 3.4 to 3.7).
    """
    latch = journal.latch
    known = latch.members if latch else {}
    have = [
        name
        for name in roster(journal)
        if name in known
        and name in observed.volumes
        and not observed.volumes[name].terminating
        and not (name in observed.answers and observed.answers[name].learner)
        and not lost(observed, spec, journal, name)
    ]
    away = observed.order.fenced
    return tuple(name for name in have if name not in away) or tuple(have)


def unproved(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[str, ...]:
    """The members that may run somewhere though their Pod does not.

    One whose claim is gone has nothing to serve. One whose Pod has run holds its volume, so no earlier
    process does, and the kubelet tells when that Pod has stopped. The others have to be named by the user.
    """
    return tuple(
        name
        for name in roster(journal)
        if name not in observed.order.fenced
        and not lost(observed, spec, journal, name)
        and not (name in observed.pods and observed.pods[name].started)
    )


def objection(observed: Observed, spec: ClusterSpec, journal: Journal) -> str:
    """Why the order that is given is not followed; empty where it is, or where there is none."""
    order, current = observed.order, incident(journal)
    consumed = journal.recovery.consumed if journal.recovery else ()
    if not order.token or exclusive(journal):
        return ""
    if order.token in consumed:
        told = f"{order.token} was followed once and is no order any more; the incident now is {current}"
        return told if current else ""
    if order.token == current:
        return _impossible(observed, spec, journal)
    now = f"that is {current}" if current else "there is none now"
    return f"{order.token} is not the incident: {now}"


def _impossible(observed: Observed, spec: ClusterSpec, journal: Journal) -> str:
    """Why an order for this incident can't be followed yet."""
    if not persistent(spec):
        return (
            "members on an emptyDir lose their data when they are stopped: there is nothing to recover from"
        )
    if not candidates(observed, spec, journal):
        return "no member has its data on a claim that is not being deleted: restore a backup"
    doubtful = unproved(observed, spec, journal)
    if doubtful:
        return (
            f"whether {', '.join(doubtful)} still runs somewhere is not known: make sure of it, then name it "
            f"in the annotation {FENCED}"
        )
    return ""


def recovering(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[bool, str, str]:
    """Status, reason and message of the condition Recovering."""
    recovery = journal.recovery
    if recovery is not None and recovery.step in _DOING:
        return True, recovery.step, _DOING[recovery.step].format(survivor=recovery.survivor)
    objected = objection(observed, spec, journal)
    if objected:
        return False, "OrderIgnored", objected
    if recovery is not None:
        return False, "Recovered", f"the cluster went on with the data of {recovery.survivor}"
    return False, "NotRecovering", ""


def way_out(spec: ClusterSpec, journal: Journal) -> str:
    """What to add to the news of a lost quorum: how to order a recovery."""
    token = incident(journal)
    if not token or not persistent(spec) or exclusive(journal):
        return ""
    return f". If they never will be, annotate this EtcdCluster with {FORCE}={token}"
