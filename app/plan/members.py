"""Keeping the members: every one that has its data, or never had any, is brought back under its name."""

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.actions import Action, CreateVolume, DeletePod, DeleteService, DeleteVolume
from app.plan.budget import protect
from app.plan.corruption import tell
from app.plan.growth import grow
from app.plan.latching import ensure, note, serving, settle
from app.plan.losses import keepers, lost, may_have_data, persistent, unknown
from app.plan.membership.changes import change
from app.plan.observed import Observed, PodFacts
from app.plan.recovery.orders import basis
from app.plan.roster import listed, roster, served
from app.plan.starting import pod
from app.plan.step import Event, Step, Trouble
from app.plan.symptoms import stranger

STRANGER_SECONDS = 10.0
"""How long a member may answer for another cluster before that is believed."""


def keep(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Decide the steps after the latch."""
    regression = _regression(observed, journal)
    if regression is not None:
        return Step(journal, troubles=(regression,))
    decided = change(observed, spec, note(observed, spec, journal))
    gone = _nothing_left(observed, spec, journal)
    step = revive(observed, spec, decided.journal, leaving=decided.leaving)
    protection = protect(observed, spec, step.journal)
    growth = grow(observed, spec, roster(step.journal))
    return Step(
        protection.journal,
        (
            *step.groups,
            *settle(observed, spec, step.journal),
            _leftovers(observed, spec, step.journal),
            (decided.action,) if decided.action is not None else (),
            # The last, so that nothing waits for it.
            (*protection.actions, *growth.actions, *_renamed(observed, spec)),
        ),
        (
            *(one for one in (gone, tell(observed, step.journal), decided.trouble) if one is not None),
            *step.troubles,
            *growth.troubles,
        ),
        (
            *step.events,
            *((decided.event,) if decided.event is not None else ()),
            *protection.events,
            *growth.events,
        ),
    )


def revive(observed: Observed, spec: ClusterSpec, journal: Journal, *, leaving: str = "") -> Step:
    """Create what a member lacks. A Pod that has ended makes room first, each time after a longer wait.

    One that has lost its data is not started on nothing, nor is one that is ``leaving``.
    """
    foundation = [*ensure(observed, names.peer_service(observed.cluster.name), client=False)]
    pods: list[Action] = []
    troubles: list[Trouble] = []
    events: list[Event] = []
    for member in roster(journal):
        seen = observed.pods.get(member)
        if member == leaving or (seen is not None and (seen.terminating or not seen.terminal)):
            if seen is not None and _waits_for_claim(observed, spec, journal, seen):
                foundation.append(CreateVolume(member))
            continue
        obstacle = _obstacle(observed, spec, journal, member)
        if obstacle is not None:
            troubles.append(obstacle)
        elif seen is not None:
            pods.append(DeletePod.of(seen))
            why = ": ".join(filter(None, seen.trouble or ())) or seen.phase
            events.append(Event("MemberEnded", "Restart", f"{member} ended ({why})"))
        else:
            if persistent(spec) and member not in observed.volumes:
                foundation.append(CreateVolume(member))
            pods.append(pod(member, observed.cluster, spec, journal))
            if served(member, journal):
                events.append(Event("MemberRecreated", "Restart", f"{member} gets a new Pod, on its data"))
    if spec.paused or observed.namespace_ending:
        return Step(journal, troubles=tuple(troubles))  # what is not done is not told either
    return Step(journal, (tuple(foundation), tuple(pods)), tuple(troubles), tuple(events))


def _waits_for_claim(observed: Observed, spec: ClusterSpec, journal: Journal, pod: PodFacts) -> bool:
    """Whether a Pod can't start since its claim went before it ever had data."""
    if not persistent(spec) or pod.running or pod.terminating or pod.name in observed.volumes:
        return False
    return not may_have_data(pod.name, journal)


def _obstacle(observed: Observed, spec: ClusterSpec, journal: Journal, member: str) -> Trouble | None:
    """What keeps the Pod of a member from being made now."""
    if lost(observed, spec, journal, member):
        return Trouble("MemberDataLost", f"{member} lost its data; it is to be replaced by a new member")
    volume = observed.volumes.get(member)
    if volume is not None and volume.terminating:
        # A Pod on it would never start, and would be in the way of its successor.
        return Trouble(
            "MemberUnknown", f"the claim {member} is being deleted; its Pod is not made anew on it"
        )
    if observed.waits.get(member, 0.0) > 0:
        return Trouble("MemberFailing", f"{member} keeps ending; its Pod is made anew after a while")
    return unknown(observed, spec, journal, member)


def _leftovers(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[Action, ...]:
    """Delete what is left of members that etcd does not list any more: the Pod, and then its claim.

    A claim goes only when the cluster is complete: until the replacement is a voter in sync, the data of
    the member that it replaces is the last resort.
    """
    if observed.members is None or journal.latch is None:
        return ()
    left: list[Action] = [
        DeletePod.of(seen)
        for name, seen in observed.pods.items()
        if name not in listed(observed) and not seen.terminating
    ]
    voters = [member.name for member in observed.members if not member.learner]
    healthy = serving(observed, journal.latch.cluster_id)
    complete = all(name in healthy and observed.pods[name].ready for name in voters)
    if complete and len(voters) == spec.size == len(observed.members):
        left += [
            DeleteVolume.of(seen)
            for name, seen in observed.volumes.items()
            if name not in listed(observed) and name not in observed.pods and not seen.terminating
        ]
    return tuple(left)


def _renamed(observed: Observed, spec: ClusterSpec) -> tuple[Action, ...]:
    """Delete the Service for clients under its former name, once there is one under its name."""
    if spec.client_service(observed.cluster.name) not in observed.services:
        return ()
    return tuple(DeleteService.of(one) for one in observed.former_services)


def _nothing_left(observed: Observed, spec: ClusterSpec, journal: Journal) -> Trouble | None:
    """Tell a cluster of which no member has its data any more: it is not made anew, empty, by itself."""
    if keepers(observed, spec, basis(observed, spec, journal)):
        return None
    return Trouble("DataLost", "no member has its data any more", stalled=True)


def _regression(observed: Observed, journal: Journal) -> Trouble | None:
    """Tell a cluster that serves less than it once did: another id, or a revision that went back.

    A stranger counts once it has been seen for a while: for a moment, a Pod's address may already be
    another's. The revision is the leader's, since the others may be behind.
    """
    known = journal.latch
    if known is None:
        return None
    strangers = sorted(
        name for name in observed.answers if observed.ages.get(stranger(name), 0.0) >= STRANGER_SECONDS
    )
    if strangers:
        return Trouble(
            "ClusterIDMismatch",
            f"{', '.join(strangers)} answers for another cluster than {known.cluster_id}",
            stalled=True,
        )
    for answer in serving(observed, known.cluster_id).values():
        if answer.leader == answer.member_id and answer.revision < known.revision:
            return Trouble(
                "DataLost",
                f"the leader is at revision {answer.revision}, but revision {known.revision} was seen before",
                stalled=True,
            )
    return None
