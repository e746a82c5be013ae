"""Which members have lost their data: proved, not suspected."""

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.etcd.model import quorum
from app.plan.observed import Observed, PodFacts
from app.plan.roster import roster
from app.plan.step import Trouble

DATA_FAULTS = (
    "couldn't find local name",
    "has already been bootstrapped",
    "invalid database",
    "crc mismatch",
    "failed to recover v3 backend from snapshot",
    "snapshot file doesn't exist",
    "is out of range [lastIndex(",
)
"""The last words of an etcd whose data is gone or can't be read.

The first two are what a member says that was started on nothing; "invalid database" is a damaged file (both
seen with 3.5, 3.6 and 3.7); the others are from etcd's sources (etcd#11949, etcd#14569 for the snapshot,
etcd#10817 for the last). A bad flag, a certificate or a kill for memory is none of them.
"""

SETTINGS_FAULTS = ("failed to verify flags", "conflicting environment variable", "x509: ", "tls: ")
"""The last words of an etcd that was told the wrong thing: a flag, a variable, a certificate."""

REPEATED = 2
"""How often such an end has to come before it is believed."""


def persistent(spec: ClusterSpec) -> bool:
    """Whether members keep their data on claims."""
    return spec.pod.persistent_volume_claim_spec is not None


def lost(observed: Observed, spec: ClusterSpec, journal: Journal, member: str) -> bool:
    """Whether a member that has had data is known to have lost it.

    On a claim: the claim is gone, or another one has its name. On an emptyDir: its Pod is gone or has ended.
    On either: etcd itself says, more than once, that it can't read what is there.
    """
    if not may_have_data(member, journal):
        return False  # it had nothing to lose
    pod = observed.pods.get(member)
    if pod is not None and unreadable(observed, pod):
        return True
    if persistent(spec):
        known = journal.latch.members.get(member) if journal.latch else None
        volume = observed.volumes.get(member)
        if volume is None:
            return member in observed.absent_volumes
        return known is not None and volume.uid != known.pvc_uid
    return member in observed.absent if pod is None else pod.terminal and not pod.terminating


def repeatable(pod: PodFacts) -> bool:
    """Whether a member ended for a reason that another one in its place would end for as well."""
    return pod.out_of_memory or any(fault in pod.last_words for fault in SETTINGS_FAULTS)


def unreadable(observed: Observed, pod: PodFacts) -> bool:
    """Whether etcd keeps ending with words that name its data as the reason."""
    if pod.running or pod.ready or pod.terminating or pod.name in observed.answers:
        return False
    return pod.restarts >= REPEATED and names_data(pod.last_words)


def names_data(words: str) -> bool:
    """Whether the last words of an etcd name its data as the reason of its end."""
    return any(fault in words for fault in DATA_FAULTS)


def keepers(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[str, ...]:
    """The members that may still have data: they have had some, and nothing proves that it is gone."""
    return tuple(
        name
        for name in roster(journal)
        if may_have_data(name, journal) and not lost(observed, spec, journal, name)
    )


def beyond_return(observed: Observed, spec: ClusterSpec, journal: Journal) -> bool:
    """Whether no quorum can come back, whatever becomes of the members that may still have data.

    One of the members may be a learner, and without a quorum nobody can tell which. So this asks for what
    would be a quorum without that one too.
    """
    voters = max(1, len(roster(journal)) - 1)
    return len(keepers(observed, spec, journal)) < quorum(voters)


def unknown(observed: Observed, spec: ClusterSpec, journal: Journal, member: str) -> Trouble | None:
    """Say so where it can't be told yet whether what the caches lack exists."""
    if not may_have_data(member, journal):
        return None
    if persistent(spec) and member not in observed.volumes and member not in observed.absent_volumes:
        return Trouble("MemberUnknown", f"whether the claim {member} still exists is not known yet")
    if member not in observed.pods and member not in observed.absent and not persistent(spec):
        return Trouble("MemberUnknown", f"whether the Pod {member} still exists is not known yet")
    return None


def may_have_data(member: str, journal: Journal) -> bool:
    """Whether a member has been seen serving, or has helped to found a cluster that serves.

    A founder may have taken part in commits before anybody saw it. Started on nothing it would vote as if
    it had not, and a quorum with it may elect a leader that lacks what was acknowledged.
    """
    if journal.latch is None:
        return False
    founders = journal.bootstrap.members if journal.bootstrap else ()
    return member in journal.latch.members or member in founders
