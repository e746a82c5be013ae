"""Looks at clusters, for tests of decisions: a cluster of three in each stage of its life."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.status import Bootstrap, ClusterStatus, Journal, Latch, LatchedMember
from app.etcd import identity
from app.plan.cluster import plan
from app.plan.observed import Answer, ClusterRef, Observed, PodFacts, VolumeFacts
from app.plan.starting import annotations, highest, ids, peer_urls
from app.plan.step import Plan

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CLUSTER = ClusterRef(name="c", namespace="ns", uid="uid-1", generation=1)
EPHEMERAL = ClusterSpec.model_validate({"size": 3, "version": "3.6.16", "repository": "r"})
PERSISTENT = ClusterSpec.model_validate(
    {
        "size": 3,
        "version": "3.6.16",
        "repository": "r",
        "pod": {"persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}}},
    }
)
MEMBERS = tuple(names.member_name("c", "uid-1", index) for index in range(3))
A, B, C = MEMBERS
URLS = peer_urls(CLUSTER, EPHEMERAL, MEMBERS)
IDENTITY = identity.bootstrap(URLS, token="uid-1")
FOUNDED = Journal(
    bootstrap=Bootstrap(members=MEMBERS, token="uid-1", cluster_id=identity.text(IDENTITY.cluster_id))
)
SERVICES = frozenset({"c", "c-client"})


def latched(*members: str, persistent: bool = False, revision: int = 5) -> Journal:
    """The journal of a cluster of which these members have served."""
    known = {
        name: LatchedMember(
            id=identity.text(IDENTITY.member_ids[name]), pvc_uid=f"pvc-{name}" if persistent else ""
        )
        for name in members or MEMBERS
    }
    latch = Latch(
        cluster_id=identity.text(IDENTITY.cluster_id), members=known, roster=MEMBERS, revision=revision
    )
    return FOUNDED.model_copy(update={"latch": latch})


def answer(member: str, *, leader: str = A, **changes: Any) -> Answer:
    """What a member of the cluster says."""
    said = Answer(
        cluster_id=IDENTITY.cluster_id,
        member_id=IDENTITY.member_ids[member],
        leader=IDENTITY.member_ids[leader] if leader else 0,
        version="3.6.16",
        revision=5,
        raft_index=20,
        raft_term=2,
        raft_applied_index=20,
        db_size=20480,
        db_size_in_use=16384,
    )
    return replace(said, **changes)


def pod(member: str, journal: Journal, **changes: Any) -> PodFacts:
    """The Pod of a member, running and ready."""
    marks = annotations(member, CLUSTER, EPHEMERAL, journal) | highest(member, journal)
    seen = PodFacts(
        name=member,
        uid=f"pod-{member}",
        resource_version="7",
        ip="127.0.0.1",
        phase="Running",
        running=True,
        ready=True,
        annotations=marks,
    )
    return replace(seen, **changes)


def volume(member: str, journal: Journal, **changes: Any) -> VolumeFacts:
    """The claim of a member."""
    seen = VolumeFacts(
        name=member,
        uid=f"pvc-{member}",
        resource_version="3",
        annotations=ids(member, journal) | highest(member, journal),
    )
    return replace(seen, **changes)


def look(
    journal: Journal,
    *,
    pods: Iterable[str] = (),
    volumes: Iterable[str] = (),
    answering: Iterable[str] = (),
    **changes: Any,
) -> Observed:
    """A look at the cluster: whose Pods and claims are there, and who answers."""
    seen = Observed(
        cluster=CLUSTER,
        status=ClusterStatus(journal=journal),
        pods={name: pod(name, journal) for name in pods},
        volumes={name: volume(name, journal) for name in volumes},
        answers={name: answer(name) for name in answering},
        services=SERVICES,
    )
    return replace(seen, **changes)


def decide(observed: Observed, spec: ClusterSpec = EPHEMERAL, **changes: Any) -> Plan:
    """What is decided at that look."""
    return plan(observed, spec, now=NOW, **changes)


def actions(decision: Plan) -> list[Any]:
    """All actions, in order."""
    return [action for group in decision.groups for action in group]


def condition(decision: Plan, kind: str) -> tuple[str, str]:
    """The status and the reason of a condition."""
    found = next(one for one in decision.status.conditions if one.type == kind)
    return found.status, found.reason
