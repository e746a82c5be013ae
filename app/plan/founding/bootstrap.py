"""Founding a cluster: etcd's own static bootstrap, all members at once.

The record comes first: the members' names, the token and the cluster id that etcd will compute from them are
written to ``status.journal.bootstrap`` before any object exists, so that a crash between any two calls finds
the same names again. Nothing is founded beside data of an earlier cluster of the same name.

A size that is changed before the cluster has served is founded anew where that can cost nobody anything: live
reads prove that fewer than a quorum of the founders' containers ever started, so that nothing can have been
acknowledged. Those that have not started go first, each by the version that was read, and then the others.
Otherwise what was begun is finished first.
"""

from dataclasses import replace

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.status import Bootstrap, Journal
from app.etcd import identity
from app.etcd.model import quorum
from app.plan.actions import Action, DeletePod, DeleteVolume
from app.plan.founding.adoption import adopt, name_conflict
from app.plan.founding.reattach import offer, reattach
from app.plan.founding.recall import recall
from app.plan.latching import note, settle
from app.plan.losses import unreadable
from app.plan.members import revive
from app.plan.naming import unused
from app.plan.observed import Observed
from app.plan.starting import peer_urls
from app.plan.step import Event, Step, Trouble


def found(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Decide the steps before the latch."""
    if journal.bootstrap is None and observed.unseen:
        # A record that is read off half of the children, or made beside them, would be wrong for good.
        text = f"the operator's caches lack {', '.join(observed.unseen)}; waiting until they have it"
        return Step(journal, troubles=(Trouble("MemberUnknown", text),))
    if journal.bootstrap is None:
        return (
            reattach(observed, spec, journal)
            or recall(observed, journal)
            or adopt(observed, spec, journal)
            or _record(observed, spec, journal)
        )
    latched = note(observed, spec, journal)
    if latched.latch is None:
        record = journal.bootstrap
        return _begin_anew(observed, spec, journal, record) or _go_on(observed, spec, journal, record)
    formed = f"{len(latched.latch.members)} of {len(journal.bootstrap.members)} members serve"
    return Step(
        latched, settle(observed, spec, latched), events=(Event("ClusterFormed", "Bootstrap", formed),)
    )


def _wiped(observed: Observed, founders: tuple[str, ...]) -> Trouble | None:
    """Tell a founding that can't end: too few founders have what they founded the cluster with.

    etcd does not let a founder in again that comes back empty. No client was let in yet; still it is for the
    user to say that what the others have may go.
    """
    empty = [name for name in founders if name in observed.pods and unreadable(observed, observed.pods[name])]
    if len(founders) - len(empty) >= quorum(len(founders)):
        return None
    text = f"{', '.join(empty)} lost what they had founded the cluster with, before it served anybody"
    return Trouble("DataLost", text, stalled=True)


def _record(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    trouble = _in_the_way(observed, spec)
    if trouble is not None:
        return Step(journal, troubles=(trouble,))
    if spec.paused:
        return Step(journal)
    cluster = observed.cluster
    members = tuple(names.member_name(cluster.name, cluster.uid, index) for index in range(spec.size or 0))
    token = cluster.uid
    if journal.next_index:  # those names have served, and the id that follows from them is a former cluster's
        members, journal = unused(cluster, journal, observed.volumes, count=spec.size or 0)
        token = f"{cluster.uid}-{journal.next_index}"
    ids = identity.bootstrap(peer_urls(cluster, spec, members), token=token)
    record = Bootstrap(members=members, token=token, cluster_id=identity.text(ids.cluster_id))
    text = f"Founding a cluster of {len(members)}: {', '.join(members)}"
    return Step(
        journal.model_copy(update={"bootstrap": record}), events=(Event("Bootstrapping", "Bootstrap", text),)
    )


def _go_on(observed: Observed, spec: ClusterSpec, journal: Journal, record: Bootstrap) -> Step:
    step = revive(observed, spec, journal)
    wiped = _wiped(observed, record.members)
    return replace(step, troubles=(wiped, *step.troubles)) if wiped is not None else step


def founders_in_doubt(journal: Journal, spec: ClusterSpec) -> tuple[str, ...]:
    """The founders whose Pods have to be read live, since whether they ever ran decides about them."""
    record = journal.bootstrap
    if record is None or journal.latch is not None or spec.size == len(record.members):
        return ()
    return record.members


def _begin_anew(observed: Observed, spec: ClusterSpec, journal: Journal, record: Bootstrap) -> Step | None:
    """Take back a founding that another size is asked for; None where it is to go on."""
    if spec.size == len(record.members) or spec.paused or not _harmless(observed, record):
        if not record.abandoned:
            return None
        going_on = record.model_copy(update={"abandoned": False})
        return Step(journal.model_copy(update={"bootstrap": going_on}))
    if not record.abandoned:
        given_up = record.model_copy(update={"abandoned": True})
        text = f"The cluster has not served yet and is founded anew with {spec.size} members"
        return Step(
            journal.model_copy(update={"bootstrap": given_up}),
            events=(Event("BootstrapAbandoned", "Bootstrap", text),),
        )
    acts = _taking_back(observed, record)
    if acts or observed.pods or observed.volumes:
        text = f"what was begun with {len(record.members)} members is taken back first"
        return Step(journal, (acts,), (Trouble("Bootstrapping", text),))
    return Step(journal.model_copy(update={"bootstrap": None}))


def _harmless(observed: Observed, record: Bootstrap) -> bool:
    """Whether fewer founders than a quorum can ever have run.

    Of a Pod that is not there nothing is known, unless it was taken back, which those that had not started
    were first.
    """
    may_have_run = [
        name
        for name in record.members
        if (observed.pods[name].started if name in observed.pods else not record.abandoned)
    ]
    return len(may_have_run) < quorum(len(record.members))


def _taking_back(observed: Observed, record: Bootstrap) -> tuple[Action, ...]:
    pods = [observed.pods[name] for name in record.members if name in observed.pods]
    idle = [pod for pod in pods if not pod.started]
    if pods:
        return tuple(DeletePod.of(pod) for pod in idle or pods if not pod.terminating)
    return tuple(DeleteVolume.of(volume) for volume in observed.volumes.values() if not volume.terminating)


def _in_the_way(observed: Observed, spec: ClusterSpec) -> Trouble | None:
    if observed.conflicts:
        return name_conflict(observed.conflicts)
    if observed.fading:
        return Trouble(
            "PredecessorTerminating",
            f"waiting until {', '.join(observed.fading)} of an earlier cluster of this name is gone",
        )
    if observed.existing_data:
        return Trouble(
            "ExistingDataFound",
            f"{', '.join(observed.existing_data)} holds data of an earlier cluster of this name; "
            f"delete it to discard that data, or choose another name{offer(observed, spec)}",
            stalled=True,
        )
    return None
