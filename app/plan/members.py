"""Keeping the members: every one that has its data, or never had any, is brought back under its name."""

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.etcd import identity
from app.plan.actions import Action, CreateVolume, DeletePod
from app.plan.latching import ensure, note, settle
from app.plan.observed import Observed
from app.plan.starting import peer_urls, pod
from app.plan.step import Event, Step, Trouble


def keep(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Decide the steps after the latch."""
    regression = _regression(observed, journal)
    if regression is not None:
        return Step(journal, troubles=(regression,))
    step = revive(observed, spec, note(observed, spec, journal))
    return Step(
        step.journal,
        (*step.groups, *settle(observed, spec, step.journal)),
        step.troubles,
        step.events,
    )


def revive(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Create what a member lacks. A Pod that has ended makes room first, each time after a longer wait."""
    record = journal.bootstrap
    if record is None:
        return Step(journal)
    urls = peer_urls(observed.cluster, spec, record.members)
    persistent = spec.pod.persistent_volume_claim_spec is not None
    foundation = [*ensure(observed, names.peer_service(observed.cluster.name), client=False)]
    pods: list[Action] = []
    troubles: list[Trouble] = []
    events: list[Event] = []
    for member in record.members:
        seen = observed.pods.get(member)
        if seen is not None and (seen.terminating or not seen.terminal):
            continue
        obstacle = _loss(observed, journal, member, persistent=persistent) or _patience(observed, member)
        if obstacle is not None:
            troubles.append(obstacle)
        elif seen is not None:
            pods.append(DeletePod(member, seen.uid, seen.resource_version))
            why = ": ".join(filter(None, seen.trouble or ())) or seen.phase
            events.append(Event("MemberEnded", "Restart", f"{member} ended ({why}); its Pod is made anew"))
        else:
            if persistent and member not in observed.volumes:
                foundation.append(CreateVolume(member))
            pods.append(pod(member, urls, journal))
            if journal.latch is not None:
                events.append(
                    Event("MemberRecreated", "Restart", f"The Pod of {member} was gone and is made anew")
                )
    return Step(journal, (tuple(foundation), tuple(pods)), tuple(troubles), tuple(events))


def _loss(observed: Observed, journal: Journal, member: str, *, persistent: bool) -> Trouble | None:
    """Say whether a member whose Pod is gone or has ended has lost its data, or may have."""
    known = journal.latch.members.get(member) if journal.latch else None
    if known is None:
        return None  # it never served, so there was nothing to lose
    if not persistent:
        if member not in observed.pods and member not in observed.absent:
            return Trouble("MemberUnknown", f"whether the Pod {member} still exists is not known yet")
        return Trouble(
            "MemberDataLost",
            f"{member} lost its emptyDir with its Pod; replacing a member is not available yet",
        )
    volume = observed.volumes.get(member)
    if volume is None and member not in observed.absent_volumes:
        return Trouble("MemberUnknown", f"whether the claim {member} still exists is not known yet")
    if volume is None or volume.uid != known.pvc_uid:
        return Trouble(
            "MemberDataLost",
            f"the claim {member} that held its data is gone; replacing a member is not available yet",
        )
    return None


def _patience(observed: Observed, member: str) -> Trouble | None:
    wait = observed.waits.get(member, 0.0)
    if wait <= 0:
        return None
    return Trouble("MemberFailing", f"{member} keeps ending; its Pod is made anew after a while")


def _regression(observed: Observed, journal: Journal) -> Trouble | None:
    """Tell a cluster that serves less than it once did: another id, or a revision that went back."""
    known = journal.latch
    if known is None:
        return None
    strangers = sorted(
        name
        for name, answer in observed.answers.items()
        if identity.text(answer.cluster_id) != known.cluster_id
    )
    if strangers:
        return Trouble(
            "ClusterIDMismatch",
            f"{', '.join(strangers)} answers for another cluster than {known.cluster_id}",
            stalled=True,
        )
    revisions = [answer.revision for answer in observed.answers.values() if answer.leader]
    if len(revisions) > len(known.members) // 2 and max(revisions) < known.revision:
        return Trouble(
            "DataLost",
            f"the members are at revision {max(revisions)}, but revision {known.revision} was seen before",
            stalled=True,
        )
    return None
