"""Which operator acts on a cluster, where two of them take it.

One of a namespace and one of all namespaces, say, or two under different Leases: each has a leader of its
own, and Leases do not keep them apart. So an operator writes its claim into the custom resource's status, by
compare-and-swap and before anything else. Who finds another's claim does nothing.

A claim names the Lease of the operator that made it, and lives for as long as that Lease is renewed: a
heartbeat in the status would be a write to a settled cluster. Whether it is renewed a reader judges by its
own clock, from its own first look, as candidates do in an election.
"""

from dataclasses import dataclass
from datetime import datetime

from app.api.conditions import timestamp
from app.api.status import Claim, Journal
from app.plan.step import Event

DURATIONS = 4
"""For how many times the Lease's duration it must not have been renewed before its claim is void."""


@dataclass(frozen=True, slots=True)
class Claimant:
    """An operator: ``holder`` is its Lease as ``namespace/name``, ``identity`` its process that leads."""

    holder: str
    identity: str
    duration_seconds: int


def rival(journal: Journal, me: Claimant) -> Claim | None:
    """The claim of another operator; None where there is none, or it is our own."""
    claim = journal.claim
    return None if claim is None or claim.holder in {"", me.holder} else claim


def claimed(journal: Journal, me: Claimant, *, now: datetime) -> Journal:
    """The journal with our claim in it; one that we made before stays as it is."""
    if journal.claim is not None and journal.claim.holder == me.holder:
        return journal
    claim = Claim(
        holder=me.holder,
        identity=me.identity,
        heartbeat=timestamp(now),
        duration_seconds=me.duration_seconds,
    )
    return journal.model_copy(update={"claim": claim})


def sign_of_life(claim: Claim, renewal: str) -> str:
    """What is timed of another's claim: it differs as soon as the claim or its Lease was written anew."""
    return f"{claim.holder}/{claim.identity}/{claim.heartbeat}/{renewal}"


def told(claim: Claim, me: Claimant) -> Event:
    """What a person reads of a cluster that is left alone."""
    note = (
        f"The operator with the Lease {claim.holder} acts on this cluster; "
        f"the one with the Lease {me.holder} leaves it alone"
    )
    return Event("ClaimedByAnother", "Claim", note, type="Warning")
