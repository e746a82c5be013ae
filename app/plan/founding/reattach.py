"""Going on with claims that outlived an earlier cluster of this name, by the user's word.

With ``dataRetention: Retain`` claims have no owner, and a custom resource that is made anew under the name is
another one. Whether it is to have that data or to begin with nothing is not for the operator to guess: the
user names the cluster id that the claims carry. Nothing of that cluster may run any more. The claims become
this one's, all of them before anything else, and then its record is read off them as after a lost status.
"""

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.actions import SetRetention
from app.plan.losses import persistent
from app.plan.observed import Observed
from app.plan.recovery.orders import ADOPT
from app.plan.starting import CLUSTER_ID
from app.plan.step import Event, Step, Trouble


def reattach(observed: Observed, spec: ClusterSpec, journal: Journal) -> Step | None:
    """Take the claims over; None where that is not ordered, not possible yet, or done."""
    if observed.conflicts or observed.fading or not persistent(spec) or spec.paused:
        return None
    # What was begun is ended, also when the order is gone: half of the members are no cluster.
    wanted = _ours(observed) or observed.order.adopt
    claims = [
        claim
        for claim in observed.former_volumes.values()
        if wanted and claim.annotations.get(CLUSTER_ID) == wanted
    ]
    if not claims:
        return None
    taken = tuple(
        SetRetention(claim.name, claim.uid, claim.resource_version, retain=spec.retains) for claim in claims
    )
    names = ", ".join(sorted(claim.name for claim in claims))
    text = f"{names} of cluster {wanted} become this cluster's"
    return Step(
        journal, (taken,), (Trouble("Reattaching", text),), (Event("DataReattached", "Reattach", text),)
    )


def _ours(observed: Observed) -> str:
    """The cluster whose claims are this one's already."""
    return next(
        (
            claim.annotations[CLUSTER_ID]
            for claim in observed.volumes.values()
            if not claim.quarantined and claim.annotations.get(CLUSTER_ID)
        ),
        "",
    )


def offer(observed: Observed, spec: ClusterSpec) -> str:
    """What to add to the news of existing data: how to go on with it."""
    ids = {claim.annotations.get(CLUSTER_ID, "") for claim in observed.former_volumes.values()} - {""}
    if not ids or not persistent(spec):
        return ""
    return f"; to go on with it, annotate this EtcdCluster with {ADOPT}={' or '.join(sorted(ids))}"
