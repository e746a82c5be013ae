"""Adopting the members of the operator that this one succeeds, as they run.

Its Pods, claims and Services have this custom resource as their controller already, and labels and names as
ours have them. What is lacking is a record, and that is read off etcd: who the members are, under which ids
and URLs. Nothing is restarted and nothing renamed. A member keeps its Pod, whatever its shape, for as long as
it runs; what is made anew after that is of our shape.

The record is only as good as what it is read from. So the old operator must be known to be gone, and its Pods
must be the members that etcd lists, no more and no less: one that is not may be half of another cluster, and
one that is listed without a Pod of ours may be run by somebody else.
"""

from collections.abc import Iterable

from app.api.cluster import ClusterSpec
from app.api.status import Bootstrap, Journal, Latch, LatchedMember
from app.etcd import identity
from app.etcd.model import quorum
from app.plan.observed import ListedMember, Observed
from app.plan.starting import peer_urls
from app.plan.step import Event, Step, Trouble
from app.plan.symptoms import locked

MOST_FOUNDERS = 7
"""How many founders a record has room for. Of adopted ones it decides nothing, since all have served."""


def adopt(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step | None:
    """Make the record of a cluster whose children are ours and carry none; None where there are no children.

    Until that is possible nothing is founded: a cluster beside them would take their clients.
    """
    claims = {name for name, volume in observed.volumes.items() if not volume.quarantined}
    if not (observed.pods or claims):
        return None
    trouble = _obstacle(observed, claims)
    if trouble is not None:
        return Step(journal, troubles=(trouble,))
    members = observed.members or ()
    cluster_id = next(iter(_cluster_ids(observed)))
    started = {member.name: _latched(observed, spec, member) for member in members if member.started}
    record = Bootstrap(
        members=tuple(started)[:MOST_FOUNDERS], token=observed.cluster.uid, cluster_id=cluster_id
    )
    latch = Latch(cluster_id=cluster_id, members=started, roster=tuple(member.name for member in members))
    text = f"{', '.join(latch.roster)} of cluster {cluster_id} go on as they are, under this operator"
    return Step(
        journal.model_copy(update={"bootstrap": record, "latch": latch}),
        events=(Event("Adopted", "Adopt", text),),
    )


def name_conflict(taken: Iterable[str]) -> Trouble:
    """Objects of somebody else have the names that are needed."""
    text = f"{', '.join(taken)} belongs to something else; delete it, or choose another name"
    return Trouble("NameConflict", text, stalled=True)


def _latched(observed: Observed, spec: ClusterSpec, member: ListedMember) -> LatchedMember:
    volume = observed.volumes.get(member.name)
    ours = peer_urls(observed.cluster, spec, [member.name])[member.name]
    return LatchedMember(
        id=identity.text(member.id),
        pvc_uid=volume.uid if volume is not None else "",
        adopted=True,
        peer_url="" if member.peer_url == ours else member.peer_url,
    )


def _cluster_ids(observed: Observed) -> set[str]:
    return {identity.text(answer.cluster_id) for answer in observed.answers.values()}


def _obstacle(observed: Observed, claims: set[str]) -> Trouble | None:
    """What is in the way of adopting, the most urgent first."""
    for lock in observed.old_locks:
        if observed.ages.get(locked(lock), 0.0) < lock.seconds:
            text = (
                f"{lock.what} is held by {lock.holder or 'nobody knows whom'}: the operator that made these "
                f"members may still act on them. They are adopted {lock.seconds:.0f} s after its last word"
            )
            return Trouble("ClaimedByAnother", text)
    if not observed.pods:
        text = (
            f"{', '.join(sorted(claims))} holds data of another operator's members, and none of them runs; "
            "delete it to discard that data, or choose another name"
        )
        return Trouble("ExistingDataFound", text, stalled=True)
    taken = sorted({*observed.conflicts} - {f"{kind}/{name}" for kind, name, _ in observed.ownerless})
    if taken:
        return name_conflict(taken)
    ending = sorted(name for name, pod in observed.pods.items() if pod.terminating)
    if ending:
        return Trouble("Adopting", f"waiting until {', '.join(ending)} has ended")
    return _unlisted(observed)


def _unlisted(observed: Observed) -> Trouble | None:
    """Whether the Pods are exactly the members of one cluster that serves."""
    if observed.members is None:
        pods = ", ".join(sorted(observed.pods))
        return Trouble("Adopting", f"waiting for a quorum of {pods} to say who the members are")
    why = _mismatch(observed, observed.members)
    if why:
        return Trouble("AdoptionBlocked", f"{why}. Until then the members are left alone", stalled=True)
    voters = {member.name for member in observed.members if not member.learner}
    serving = {name for name, answer in observed.answers.items() if answer.leader}
    if len(voters & serving) < quorum(len(voters)):
        return Trouble("Adopting", f"waiting for a quorum of {', '.join(sorted(voters))} to serve")
    return None


def _mismatch(observed: Observed, members: tuple[ListedMember, ...]) -> str:
    """How the Pods differ from the members, with what to do about it; empty where they do not."""
    pods, answers, ids = observed.pods, observed.answers, _cluster_ids(observed)
    if len(ids) > 1:
        return f"{', '.join(sorted(pods))} answer for several clusters: {', '.join(sorted(ids))}"
    nameless = [member.peer_url for member in members if not member.name]
    if nameless:
        return f"etcd lists a member at {nameless[0]} whose Pod can't be told; remove it from etcd"
    listed = {member.name: member.id for member in members}
    others = {name for name, answer in answers.items() if listed.get(name) != answer.member_id}
    strays = sorted(pods.keys() - listed.keys() | others)
    if strays:
        return f"{', '.join(strays)} is not the member that etcd lists by this name; delete the Pod"
    elsewhere = sorted(listed.keys() - pods.keys() - observed.absent)
    if elsewhere:
        return f"etcd lists {', '.join(elsewhere)}, whose Pod is not this cluster's; remove it from etcd"
    return ""
