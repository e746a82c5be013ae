"""Which members have lost their data: proved, not suspected."""

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.observed import Observed
from app.plan.step import Trouble


def persistent(spec: ClusterSpec) -> bool:
    """Whether members keep their data on claims."""
    return spec.pod.persistent_volume_claim_spec is not None


def lost(observed: Observed, spec: ClusterSpec, journal: Journal, member: str) -> bool:
    """Whether a member that has served is known to have lost its data.

    On a claim: the claim is gone, or another one has its name. On an emptyDir: its Pod is gone or has ended.
    """
    known = journal.latch.members.get(member) if journal.latch else None
    if known is None:
        return False  # it never served, so it had nothing to lose
    pod = observed.pods.get(member)
    if persistent(spec):
        volume = observed.volumes.get(member)
        return member in observed.absent_volumes if volume is None else volume.uid != known.pvc_uid
    return member in observed.absent if pod is None else pod.terminal and not pod.terminating


def unknown(observed: Observed, spec: ClusterSpec, journal: Journal, member: str) -> Trouble | None:
    """Say so where it can't be told yet whether what the caches lack exists."""
    if journal.latch is None or member not in journal.latch.members:
        return None
    if persistent(spec) and member not in observed.volumes and member not in observed.absent_volumes:
        return Trouble("MemberUnknown", f"whether the claim {member} still exists is not known yet")
    if member not in observed.pods and member not in observed.absent and not persistent(spec):
        return Trouble("MemberUnknown", f"whether the Pod {member} still exists is not known yet")
    return None
