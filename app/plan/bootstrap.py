"""Founding a cluster: etcd's own static bootstrap, all members at once.

The record comes first: the members' names, the token and the cluster id that etcd will compute from them are
written to ``status.journal.bootstrap`` before any object exists, so that a crash between any two calls finds
the same names again. Nothing is founded beside data of an earlier cluster of the same name.
"""

from dataclasses import replace

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.status import Bootstrap, Journal
from app.etcd import identity
from app.etcd.model import quorum
from app.plan.latching import note, settle
from app.plan.losses import unreadable
from app.plan.members import revive
from app.plan.observed import Observed
from app.plan.recall import recall
from app.plan.starting import peer_urls
from app.plan.step import Event, Step, Trouble


def found(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step:
    """Decide the steps before the latch."""
    if journal.bootstrap is None:
        return recall(observed, journal) or _record(observed, spec, journal)
    latched = note(observed, spec, journal)
    if latched.latch is None:
        step = revive(observed, spec, journal)
        wiped = _wiped(observed, journal.bootstrap.members)
        return replace(step, troubles=(wiped, *step.troubles)) if wiped is not None else step
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
    trouble = _in_the_way(observed)
    if trouble is not None:
        return Step(journal, troubles=(trouble,))
    if spec.paused:
        return Step(journal)
    cluster = observed.cluster
    members = tuple(names.member_name(cluster.name, cluster.uid, index) for index in range(spec.size or 0))
    token = cluster.uid
    ids = identity.bootstrap(peer_urls(cluster, spec, members), token=token)
    record = Bootstrap(members=members, token=token, cluster_id=identity.text(ids.cluster_id))
    text = f"Founding a cluster of {len(members)}: {', '.join(members)}"
    return Step(
        journal.model_copy(update={"bootstrap": record}), events=(Event("Bootstrapping", "Bootstrap", text),)
    )


def _in_the_way(observed: Observed) -> Trouble | None:
    if observed.conflicts:
        return Trouble(
            "NameConflict",
            f"{', '.join(observed.conflicts)} belongs to something else; delete it, or choose another name",
            stalled=True,
        )
    if observed.fading:
        return Trouble(
            "PredecessorTerminating",
            f"waiting until {', '.join(observed.fading)} of an earlier cluster of this name is gone",
        )
    if observed.existing_data:
        return Trouble(
            "ExistingDataFound",
            f"{', '.join(observed.existing_data)} holds data of an earlier cluster of this name; "
            "delete it to discard that data, or choose another name",
            stalled=True,
        )
    return None
