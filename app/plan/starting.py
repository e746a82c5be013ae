"""How a member's etcd starts: what it reads from its Pod's annotations, anew at each start of the container.

etcd looks at its initial cluster only where there is no data yet. So a member that has never been seen
serving gets the whole founding list and the state ``new``; one that has gets ``existing`` and a list
*without itself*. With its data it starts all the same; without, it exits ("couldn't find local name")
instead of helping to found the same cluster anew under the same ids, which loses acknowledged writes (seen
with etcd 3.5, 3.6 and 3.7).
"""

from collections.abc import Iterable, Mapping

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.plan.actions import CreatePod
from app.plan.losses import persistent
from app.plan.observed import ClusterRef
from app.plan.roster import adopted, roster, served

INITIAL_CLUSTER = "etcd.database.coreos.com/initial-cluster"
INITIAL_STATE = "etcd.database.coreos.com/initial-cluster-state"
CLUSTER_ID = "etcd.database.coreos.com/cluster-id"
MEMBER_ID = "etcd.database.coreos.com/member-id"
HIGHEST = "etcd.database.coreos.com/highest-revision"
ADOPTED = "etcd.database.coreos.com/adopted"
TOKEN = "etcd.database.coreos.com/initial-cluster-token"  # noqa: S105 - a name

NEW = "new"
EXISTING = "existing"

_NOBODY = "nobody=http://nobody.invalid:2380"
"""The list of a one-member cluster without that member; an empty one etcd would replace by one with it."""


def peer_urls(cluster: ClusterRef, spec: ClusterSpec, members: Iterable[str]) -> Mapping[str, str]:
    """The peer URL of each member, by its name in DNS: a Pod's address changes, its name does not."""
    return {
        member: names.peer_url(
            member,
            cluster=cluster.name,
            namespace=cluster.namespace,
            domain=spec.pod.cluster_domain,
            tls=spec.peer_tls,
        )
        for member in members
    }


def known_urls(
    cluster: ClusterRef, spec: ClusterSpec, members: Iterable[str], journal: Journal
) -> Mapping[str, str]:
    """The peer URLs as etcd has them: an adopted member keeps what it was added with."""
    kept = journal.latch.members if journal.latch else {}
    return {
        member: (kept[member].peer_url if member in kept else "") or url
        for member, url in peer_urls(cluster, spec, members).items()
    }


def initial_cluster(urls: Mapping[str, str], *, without: str = "") -> str:
    """Write ``--initial-cluster``."""
    return ",".join(f"{member}={url}" for member, url in urls.items() if member != without) or _NOBODY


def ids(member: str, journal: Journal) -> dict[str, str]:
    """The latch as a Pod and a claim carry it, so that losing the status does not lose the fact."""
    if journal.latch is None or member not in journal.latch.members:
        return {}
    known = journal.latch.members[member]
    origin = {ADOPTED: "true"} if known.adopted else {}
    return {CLUSTER_ID: journal.latch.cluster_id, MEMBER_ID: known.id, **origin}


def highest(member: str, journal: Journal) -> dict[str, str]:
    """The highest revision that was seen, as a member's claim carries it; without claims, its Pod."""
    if journal.latch is None or not journal.latch.revision or not served(member, journal):
        return {}
    return {HIGHEST: str(journal.latch.revision)}


def annotations(member: str, cluster: ClusterRef, spec: ClusterSpec, journal: Journal) -> dict[str, str]:
    """What a member is to read at its next start.

    One that has served: ``existing``, without itself. A founder that has not: ``new`` and all founders. One
    that was added and has not served: ``existing`` and exactly the members as they are listed now, itself
    among them.
    """
    if served(member, journal):
        others = initial_cluster(known_urls(cluster, spec, roster(journal), journal), without=member)
        return {INITIAL_STATE: EXISTING, INITIAL_CLUSTER: others, **ids(member, journal)}
    if journal.bootstrap is not None and member in journal.bootstrap.members:
        founders = peer_urls(cluster, spec, journal.bootstrap.members)
        return {INITIAL_STATE: NEW, INITIAL_CLUSTER: initial_cluster(founders)}
    return {
        INITIAL_STATE: EXISTING,
        INITIAL_CLUSTER: initial_cluster(known_urls(cluster, spec, roster(journal), journal)),
    }


def pod(member: str, cluster: ClusterRef, spec: ClusterSpec, journal: Journal) -> CreatePod:
    """Decide how the Pod of a member starts."""
    return CreatePod(
        member=member,
        peer_url=known_urls(cluster, spec, [member], journal)[member],
        annotations=annotations(member, cluster, spec, journal),
        token=journal.bootstrap.token if journal.bootstrap else "",
        as_root=persistent(spec) and adopted(member, journal),
    )
