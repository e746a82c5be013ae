"""Founding a cluster a second time, empty: only when its data is gone, and only by the user's word.

The order names the incident, as one to recover does. All Pods of the former members go first, and the Service
for clients: it is made again once the new cluster has served, as with any. Claims that are left are set aside
and go when the new cluster is complete. Names and token are others, so the cluster id is too: nothing that
still runs somewhere can take part in it.
"""

from app.api.cluster import ClusterSpec
from app.api.status import Bootstrap, Incident, Journal, Recovery
from app.etcd import identity
from app.etcd.model import quorum
from app.plan.actions import Action, DeleteService, Quarantine
from app.plan.losses import keepers, persistent
from app.plan.naming import unused
from app.plan.observed import Observed
from app.plan.recovery.inspecting import fruitless
from app.plan.recovery.orders import (
    DISCARDING,
    DONE,
    FORCE,
    MOST_TOKENS,
    basis,
    exclusive,
    fenced,
    incident,
    mark,
)
from app.plan.recovery.tasks import stop_members
from app.plan.roster import roster
from app.plan.starting import peer_urls
from app.plan.step import Event, Step, Trouble
from app.plan.symptoms import NO_QUORUM


def objection(observed: Observed, spec: ClusterSpec, journal: Journal) -> str:
    """Why the order to found anew is not followed; empty where it is, or where there is none."""
    token, current = observed.order.anew, incident(journal)
    consumed = journal.recovery.consumed if journal.recovery else ()
    if not token or (journal.recovery is not None and journal.recovery.step == DISCARDING):
        return ""
    if mark(token) in consumed:
        told = f"{token} was followed once and is no order any more; the incident now is {current}"
        return told if current else ""
    if token != current:
        return f"{token} is not the incident: {f'that is {current}' if current else 'there is none now'}"
    if exclusive(journal) and not fruitless(observed, spec, journal):
        return "a recovery is under way"
    return "" if possible(observed, spec, journal) else _what_is_left(observed, spec, journal)


def possible(observed: Observed, spec: ClusterSpec, journal: Journal) -> bool:
    """Whether there is nothing that the cluster could go on with.

    On claims that means no claim with data; without claims, no quorum, since a member can't be made to forget
    the others without stopping it, and its data goes with its Pod. There may be members of which nothing is
    known any more (their Pods were gone when the status was lost): one that stays away is no quorum either.
    """
    if journal.latch is None or fruitless(observed, spec, journal):
        return True
    kept = _kept(observed, spec, journal)
    if persistent(spec):
        return not kept
    return len(kept) < quorum(len(roster(journal))) or observed.ages.get(NO_QUORUM, 0.0) >= spec.replace_after


def _kept(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[str, ...]:
    return keepers(observed, spec, basis(observed, spec, journal))


def _what_is_left(observed: Observed, spec: ClusterSpec, journal: Journal) -> str:
    kept = ", ".join(_kept(observed, spec, journal))
    if persistent(spec):
        return f"{kept} may have its data: name the incident in {FORCE} instead, or delete its claim"
    return f"{kept} may have their data, which is enough for a quorum; wait for {spec.replace_after:.0f} s"


def follow_anew(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step | None:
    """Begin to found the cluster anew as is ordered; None where that is not."""
    token = observed.order.anew
    consumed = journal.recovery.consumed if journal.recovery else ()
    under_way = journal.recovery is not None and journal.recovery.step == DISCARDING
    if not token or under_way or mark(token) in consumed or objection(observed, spec, journal):
        return None
    begun = Recovery(
        token=token,
        step=DISCARDING,
        fenced=tuple(sorted(observed.order.fenced)),
        consumed=(*consumed, mark(token))[-MOST_TOKENS:],
    )
    text = f"The cluster is to be founded anew, empty, after the incident {token}: what is left of it goes"
    return Step(
        journal.model_copy(update={"recovery": begun, "intent": None}),
        events=(Event("FoundingAnew", "Recover", text, type="Warning"),),
    )


def discard(observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery) -> Step:
    """Stop what is left and close the Service for clients; then write the record of a new founding."""
    former = tuple(sorted({*roster(journal), *observed.pods} - fenced(observed, journal)))
    there = [name for name in former if name in observed.pods or name not in observed.absent]
    aside: tuple[Action, ...] = tuple(
        Quarantine(name, volume.uid, recovery.token)
        for name, volume in observed.volumes.items()
        if not volume.quarantined
    )
    doors = (observed.client_service, *observed.former_services)
    closed: tuple[Action, ...] = tuple(DeleteService.of(one) for one in doors if one is not None)
    if there or aside or closed:
        waits = f"waiting until {', '.join(there)} is gone" if there else "what is left is set aside"
        return Step(
            journal,
            (closed, (*stop_members(observed, former), *aside)),
            (Trouble("Recovering", waits),),
        )
    return _record(observed, spec, journal, recovery)


def _record(observed: Observed, spec: ClusterSpec, journal: Journal, recovery: Recovery) -> Step:
    size = spec.size or len(roster(journal))
    members, journal = unused(observed.cluster, journal, observed.volumes, count=size)
    token = f"{observed.cluster.uid}-{recovery.token}"
    ids = identity.bootstrap(peer_urls(observed.cluster, spec, members), token=token)
    number = journal.incident.number if journal.incident else 0
    text = f"Founding a cluster of {size} anew: {', '.join(members)}"
    return Step(
        journal.model_copy(
            update={
                "bootstrap": Bootstrap(
                    members=members, token=token, cluster_id=identity.text(ids.cluster_id)
                ),
                "latch": None,
                "incident": Incident(number=number),
                "recovery": Recovery(token=recovery.token, step=DONE, consumed=recovery.consumed),
            }
        ),
        events=(Event("Bootstrapping", "Bootstrap", text),),
    )
