"""Orders to recover from a loss of quorum, and why one is not followed.

The user names the incident in an annotation of the EtcdCluster, and in another one the members that the
operator can't know to be stopped: those whose Pod has not run since it was made, so that an earlier process
may still run on a node that nobody hears of. An order is followed once; its token is kept.

``spec.recovery.quorumLoss`` gives the same order by itself, for each incident once: when the quorum has been
lost for as long as ``memberReplaceAfterSeconds``, when so many claims are proved to be gone that no quorum
can come back, and when no other member may still run somewhere.
"""

from collections.abc import Mapping
from dataclasses import replace

from app.api.base import GROUP
from app.api.cluster import ClusterSpec
from app.api.status import Journal, Recovery
from app.plan.losses import beyond_return, lost, persistent
from app.plan.observed import Observed, Order
from app.plan.roster import roster
from app.plan.symptoms import NO_QUORUM

FORCE = f"{GROUP}/force-new-cluster"
ANEW = f"{GROUP}/found-anew"
ADOPT = f"{GROUP}/adopt-data"
FENCED = f"{GROUP}/fenced-members"

DISCARDING = "Discarding"
FENCING = "Fencing"
INSPECTING = "Inspecting"
FORCING = "Forcing"
STOPPING = "Stopping"
RESTARTING = "Restarting"
GROWING = "Growing"
DONE = "Done"

MOST_TOKENS = 64
"""How many consumed tokens are kept, as many as the status has room for."""


def read_order(annotations: Mapping[str, str]) -> Order:
    """Read what the annotations of a custom resource order."""
    named = (name.strip() for name in annotations.get(FENCED, "").split(","))
    return Order(
        token=annotations.get(FORCE, "").strip(),
        fenced=frozenset(filter(None, named)),
        anew=annotations.get(ANEW, "").strip(),
        adopt=annotations.get(ADOPT, "").strip(),
    )


def mark(token: str) -> str:
    """How an order to found the cluster anew is kept among the consumed ones."""
    return f"anew/{token}"


def incident(journal: Journal) -> str:
    """The token of the incident that lasts; empty for none."""
    return journal.incident.token if journal.incident else ""


def exclusive(journal: Journal) -> bool:
    """Whether a recovery is at a step at which nothing else is decided about the cluster."""
    step = journal.recovery.step if journal.recovery else ""
    return step in {DISCARDING, FENCING, INSPECTING, FORCING, STOPPING, RESTARTING}


def fenced(observed: Observed, journal: Journal) -> frozenset[str]:
    """The members of which the user said that they run nowhere, when ordering or since."""
    recovery = journal.recovery
    if recovery is None or not exclusive(journal):
        return observed.order.fenced
    return frozenset(recovery.fenced) | fenced_since(observed, recovery)


def fenced_since(observed: Observed, recovery: Recovery) -> frozenset[str]:
    """The members that the user has named so while the recovery was under way."""
    named = recovery.token in {observed.order.token, observed.order.anew}
    return observed.order.fenced - frozenset(recovery.fenced) if named else frozenset()


def mandate(observed: Observed, spec: ClusterSpec, journal: Journal) -> Order:
    """The order to follow: the user's, or the one that the spec gives once all that it takes is proved."""
    order, token = observed.order, incident(journal)
    if order.token == token or not spec.recovers_alone or not token:
        return order
    due = observed.ages.get(NO_QUORUM, 0.0) >= spec.replace_after and beyond_return(observed, spec, journal)
    consumed = journal.recovery.consumed if journal.recovery else ()
    if not due or token in consumed or exclusive(journal) or obstacle(observed, spec, journal):
        return order
    return replace(order, token=token)


def basis(observed: Observed, spec: ClusterSpec, journal: Journal) -> Journal:
    """The journal to recover by.

    While a cluster grows back, the claims that its recovery set aside are the last resort: where no other
    member has data, these are members again.
    """
    recovery, latch = journal.recovery, journal.latch
    if recovery is None or recovery.step != GROWING or recovery.former is None or latch is None:
        return journal
    if candidates(observed, spec, journal):
        return journal
    members = {**recovery.former.members, **latch.members}
    names = (*latch.roster, *(name for name in recovery.former.roster if name not in latch.roster))
    return journal.model_copy(
        update={"latch": latch.model_copy(update={"members": members, "roster": names})}
    )


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
        return obstacle(observed, spec, journal)
    now = f"that is {current}" if current else "there is none now"
    return f"{order.token} is not the incident: {now}"


def obstacle(observed: Observed, spec: ClusterSpec, journal: Journal) -> str:
    """Why a recovery from this incident can't begin yet."""
    if not persistent(spec):
        return (
            "members on an emptyDir lose their data when they are stopped: there is nothing to recover from"
        )
    if not candidates(observed, spec, basis(observed, spec, journal)):
        return "no member has its data on a claim that is not being deleted: restore a backup"
    doubtful = unproved(observed, spec, journal)
    if doubtful:
        return (
            f"whether {', '.join(doubtful)} still runs somewhere is not known: make sure of it, then name it "
            f"in the annotation {FENCED}"
        )
    return ""
