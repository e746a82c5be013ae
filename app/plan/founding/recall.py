"""Remembering what the status has forgotten.

A status can be lost: a backup tool restores the resource without it, somebody replaces the object. What must
not be lost with it, that this cluster was founded and who has served, is on the Pods and claims too. So a
resource without a record that has children of its own is not a new cluster: its record is read off them.
"""

from collections.abc import Mapping

from app.api.status import Bootstrap, Journal, Latch, LatchedMember
from app.etcd import identity
from app.plan.observed import Observed
from app.plan.roster import updated
from app.plan.starting import (
    ADOPTED,
    CLUSTER_ID,
    HIGHEST,
    INITIAL_CLUSTER,
    INITIAL_STATE,
    MEMBER_ID,
    NEW,
    TOKEN,
)
from app.plan.step import Event, Step, Trouble


def recall(observed: Observed, journal: Journal) -> Step | None:
    """Make the record anew from what the children say; None where there are none.

    Children of ours that say nothing are another operator's: see `app.plan.founding.adoption`.
    """
    said = _said(observed)
    known = {marks[CLUSTER_ID] for marks in said.values() if marks.get(CLUSTER_ID)}
    if len(known) > 1:
        text = f"the members' Pods and claims name several clusters: {', '.join(sorted(known))}"
        return Step(journal, troubles=(Trouble("ClusterIDMismatch", text, stalled=True),))
    founders = _founders(said)
    if not known and not founders:
        if not said and observed.volumes:
            return Step(journal, troubles=(_set_aside(observed),))
        return None
    token = next((marks[TOKEN] for marks in said.values() if marks.get(TOKEN)), observed.cluster.uid)
    # Founders that are not known any more have all served; whoever has not was added later, and helps to
    # found nothing.
    members = tuple(founders) or tuple(name for name in said if said[name].get(CLUSTER_ID))
    cluster_id = next(iter(known), "")
    if not cluster_id:
        cluster_id = identity.text(identity.bootstrap(founders, token=token).cluster_id)
    record = Bootstrap(members=members, token=token, cluster_id=cluster_id)
    latch = _latch(observed, said, cluster_id) if known else None
    update = {"bootstrap": record, "latch": latch, "next_index": max(journal.next_index, len(said))}
    recalled = journal.model_copy(update=update)
    if latch is not None:
        members = updated(observed, recalled)
        recalled = recalled.model_copy(update={"latch": latch.model_copy(update={"roster": members})})
    note = f"The status had no record of {', '.join(sorted(said))}; it was read off their Pods and claims"
    return Step(
        recalled,
        events=(Event("RecordRestored", "Recall", note, type="Warning"),),
    )


def _set_aside(observed: Observed) -> Trouble:
    """All that is left was set aside by a recovery of which nothing is known any more."""
    text = (
        f"{', '.join(sorted(observed.volumes))} was set aside by a recovery; delete it to discard that data"
    )
    return Trouble("ExistingDataFound", text, stalled=True)


def _said(observed: Observed) -> dict[str, Mapping[str, str]]:
    """The annotations of each member, its claim's below its Pod's."""
    members = {
        *observed.pods,
        *(name for name, volume in observed.volumes.items() if not volume.quarantined),
    }
    return {
        name: {
            **(observed.volumes[name].annotations if name in observed.volumes else {}),
            **(observed.pods[name].annotations if name in observed.pods else {}),
        }
        for name in sorted(members)
    }


def _founders(said: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The founders and their peer URLs, as a Pod that may still help to found the cluster has them."""
    for marks in said.values():
        if marks.get(INITIAL_STATE) == NEW and "=" in marks.get(INITIAL_CLUSTER, ""):
            return dict(entry.split("=", 1) for entry in marks[INITIAL_CLUSTER].split(","))
    return {}


def _latch(observed: Observed, said: Mapping[str, Mapping[str, str]], cluster_id: str) -> Latch:
    served = {
        name: LatchedMember(
            id=marks.get(MEMBER_ID, ""),
            pvc_uid=observed.volumes[name].uid if name in observed.volumes else "",
            adopted=marks.get(ADOPTED) == "true",
        )
        for name, marks in said.items()
        if marks.get(CLUSTER_ID)
    }
    marked = [pod.annotations for pod in observed.pods.values()]
    marked += [observed.volumes[name].annotations for name in said if name in observed.volumes]
    seen = [marks.get(HIGHEST, "") for marks in marked]
    revision = max((int(one) for one in seen if one.isascii() and one.isdigit()), default=0)
    return Latch(cluster_id=cluster_id, members=served, roster=tuple(said), revision=revision)
