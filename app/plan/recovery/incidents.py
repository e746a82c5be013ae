"""Losses of quorum as incidents, each with a token to name it by.

An incident begins when a quorum is known to be lost and ends when one serves. The token is written to the
journal, so it is stable; it is made from what was so when the incident began and from the number of
incidents before, so that the next one has another. Whoever orders a recovery names it: an order that was left
in Git never fires on a later incident.
"""

import hashlib
from dataclasses import replace

from app.api.status import Incident, Journal
from app.plan.health import health_of, quorum_lost
from app.plan.observed import Observed
from app.plan.recovery.orders import exclusive
from app.plan.roster import roster
from app.plan.step import Event, Step

TOKEN_LENGTH = 10


def follow(observed: Observed, step: Step) -> Step:
    """Note the beginning of an incident, or its end."""
    journal = step.journal
    before = journal.incident or Incident()
    if journal.latch is None:
        return _follow_founding(observed, step, before)
    health = health_of(observed, journal)
    if not before.token and quorum_lost(observed, health):
        number = before.number + 1
        incident = Incident(token=_token(observed, journal, number), number=number)
        text = (
            f"{len(health.serving)} of {len(health.members)} members serve; the incident is {incident.token}"
        )
        return _noted(step, incident, Event("QuorumLost", "Observe", text, type="Warning"))
    if before.token and health.enough(health.serving):
        text = f"A quorum serves again; the incident {before.token} is over"
        return _noted(step, before.model_copy(update={"token": ""}), Event("QuorumRegained", "Observe", text))
    return step


def _follow_founding(observed: Observed, step: Step, before: Incident) -> Step:
    """A founding that can't end is an incident as well, so that there is a name to order the way out by."""
    lost = next((one for one in step.troubles if one.reason == "DataLost"), None)
    if lost is not None and not before.token:
        number = before.number + 1
        incident = Incident(token=_token(observed, step.journal, number), number=number)
        text = f"{lost.message}; the incident is {incident.token}"
        return _noted(step, incident, Event("DataLost", "Observe", text, type="Warning"))
    if lost is None and before.token and not exclusive(step.journal):
        text = f"The founders are well; the incident {before.token} is over"
        return _noted(step, before.model_copy(update={"token": ""}), Event("QuorumRegained", "Observe", text))
    return step


def _noted(step: Step, incident: Incident, event: Event) -> Step:
    journal = step.journal.model_copy(update={"incident": incident})
    return replace(step, journal=journal, events=(*step.events, event))


def _token(observed: Observed, journal: Journal, number: int) -> str:
    latch = journal.latch
    facts = (
        observed.cluster.uid,
        str(number),
        *((latch.cluster_id, str(latch.revision), str(latch.raft_term)) if latch else ()),
        *roster(journal),
    )
    return hashlib.sha256("/".join(facts).encode()).hexdigest()[:TOKEN_LENGTH]
