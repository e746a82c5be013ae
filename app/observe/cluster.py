"""One look at a cluster: what the caches hold, what a live read confirms, what etcd says of itself.

Reads only. Every call has a deadline, and one that fails leaves its answer unknown; nothing here fails
because a member does not answer.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.conditions import is_true
from app.api.status import ClusterStatus, ConditionType
from app.etcd.client import Dialer
from app.etcd.endpoint import Endpoint
from app.etcd.errors import AuthRequired, EtcdError
from app.etcd.model import AlarmType, Status
from app.kube.api import Api
from app.kube.errors import NotFound
from app.kube.objects import CustomObject, Object, Pod, PodDisruptionBudget
from app.kube.resources import NAMESPACES, PERSISTENT_VOLUME_CLAIMS, PODS, Resource
from app.observe.caches import BY_CLUSTER, BY_NAMESPACE, Caches
from app.observe.facts import budget_facts, helper_of, pod_facts, volume_facts
from app.observe.locks import Locks
from app.observe.obstacles import Obstacles, find_obstacles
from app.observe.pulse import Fingerprint
from app.observe.services import client_service, former_services, is_ours, own_services, ownerless_services
from app.plan.founding.bootstrap import founders_in_doubt
from app.plan.observed import (
    Answer,
    BudgetFacts,
    ClusterRef,
    Helper,
    ListedMember,
    Observed,
    PodFacts,
    Task,
)
from app.plan.recovery.orders import exclusive
from app.plan.roster import roster

T = TypeVar("T", bound=Object)

ANSWER_SECONDS = 1.0
"""How long a member may take to say how it is; the client port of one that has not joined a quorum hangs."""

LIST_SECONDS = 2.0
"""How long a linearizable list of the members may take."""


class Observer:
    """Takes looks at clusters."""

    def __init__(self, api: Api, caches: Caches, dialer: Dialer, *, home: str) -> None:
        """Look through ``caches``, and at members through ``dialer``; ``home`` is our own namespace."""
        self._api = api
        self._caches = caches
        self._dialer = dialer
        self._locks = Locks(api)
        self._home = home

    def fingerprint(self, obj: CustomObject) -> Fingerprint:
        """What the caches show of a cluster: any change of any object differs."""
        children = (
            (child.metadata.uid, child.metadata.resource_version)
            for informer in (self._caches.pods, self._caches.volumes, self._caches.services)
            for child in informer.store.by_index(BY_CLUSTER, obj.metadata.key)
        )
        # The status of a budget changes with each Pod; what it says does not.
        budgets = (
            (
                budget.metadata.uid,
                budget.metadata.generation,
                frozenset((budget.metadata.labels or {}).items()),
            )
            for budget in self._budgets_of(obj.metadata.namespace, obj.metadata.name)
        )
        return Fingerprint(obj.metadata.uid, obj.metadata.resource_version, (*children, *budgets))

    async def observe(
        self, cluster: ClusterRef, spec: ClusterSpec, status: ClusterStatus, waits: Mapping[str, float]
    ) -> Observed:
        """Look at a cluster. Raises `KubeError` where a live read that a decision needs fails."""
        ours = [
            (pod, helper_of(pod))
            for pod in self._caches.pods.store.by_index(BY_CLUSTER, cluster.key)
            if is_ours(pod, cluster)
        ]
        pods = {pod.metadata.name: pod_facts(pod) for pod, helper in ours if helper is None}
        helpers = {helper.pod.name: helper for _, helper in ours if helper is not None}
        volumes = {
            claim.metadata.name: volume_facts(claim)
            for claim in self._caches.volumes.store.by_index(BY_CLUSTER, cluster.key)
            if is_ours(claim, cluster)
        }
        in_doubt = founders_in_doubt(status.journal, spec)
        if in_doubt:
            live, _ = await self._look(PODS, cluster, in_doubt)
            pods = {name: pod for name, pod in pods.items() if name not in in_doubt}
            pods |= {pod.metadata.name: pod_facts(pod) for pod in live}
        record = status.journal.bootstrap
        # Without a record, whoever is there may be the old operator's: etcd then says who the members are.
        unrecorded = await self._ask(pods) if record is None and pods else None
        said = (unrecorded[1] or ()) if unrecorded is not None else ()
        members = frozenset(roster(status.journal) or (one.name for one in said if names.is_label(one.name)))
        missing = members - pods.keys()
        # One that waits for a claim that is gone looks like any other that has not started yet.
        bereft = (missing | {name for name, pod in pods.items() if not pod.running}) - volumes.keys()
        # While a cluster is founded nothing depends on it: there is no data that could be taken for lost.
        founding = record is not None and status.journal.latch is None and not exclusive(status.journal)
        stray_pods, absent = await self._look(PODS, cluster, () if founding else missing)
        pods |= {pod.metadata.name: pod_facts(pod) for pod in stray_pods}
        stray_claims, absent_volumes = await self._look(
            PERSISTENT_VOLUME_CLAIMS, cluster, () if founding else bereft & members
        )
        volumes |= {claim.metadata.name: volume_facts(claim) for claim in stray_claims}
        obstacles = await find_obstacles(self._api, cluster, spec) if record is None else Obstacles()
        answers, listed, locked = unrecorded or await self._ask(pods)
        services = own_services(self._caches, cluster, spec)
        return Observed(
            cluster=cluster,
            status=status,
            pods=pods,
            volumes=volumes,
            services=frozenset(services),
            drifted=frozenset(name for name, settled in services.items() if not settled),
            former_services=former_services(self._caches, cluster, spec),
            client_service=client_service(self._caches, cluster, spec),
            budgets=self._budgets(cluster, [pod for pod, _ in ours]),
            answers=answers,
            members=listed,
            learners_known=await self._learners_known(status, pods, answers),
            locked=locked,
            absent=absent,
            absent_volumes=absent_volumes,
            stray=frozenset((PODS.kind, pod.metadata.name, pod.metadata.uid) for pod in stray_pods)
            | frozenset(
                (PERSISTENT_VOLUME_CLAIMS.kind, claim.metadata.name, claim.metadata.uid)
                for claim in stray_claims
            ),
            helpers={name: await self._hear(helper) for name, helper in helpers.items()},
            absent_helpers=await self._absent_helpers(cluster, status, helpers),
            namespace_ending=await self._namespace_ends(cluster) if missing or record is None else False,
            waits=waits,
            conflicts=tuple(obstacles.conflicts),
            existing_data=tuple(obstacles.existing),
            fading=tuple(obstacles.fading),
            former_volumes=obstacles.former,
            unseen=tuple(one for one in obstacles.own if one not in _named(pods, helpers, volumes)),
            old_locks=await self._locks.old({cluster.namespace, self._home}) if unrecorded else (),
            ownerless=ownerless_services(self._caches, cluster, spec),
        )

    def _budgets(self, cluster: ClusterRef, pods: Sequence[Pod]) -> tuple[BudgetFacts, ...]:
        """What there is of PodDisruptionBudgets that may be about these Pods of the cluster."""
        found = self._budgets_of(cluster.namespace, cluster.name)
        return tuple(budget_facts(budget, cluster, pods) for budget in found)

    def _budgets_of(self, namespace: str, name: str) -> list[PodDisruptionBudget]:
        """Those that a cluster of this name controls, and those that no EtcdCluster does."""
        store = self._caches.budgets.store
        return store.by_index(BY_CLUSTER, f"{namespace}/{name}") + store.by_index(BY_NAMESPACE, namespace)

    async def _look(
        self, resource: Resource[T], cluster: ClusterRef, wanted: Iterable[str]
    ) -> tuple[list[T], frozenset[str]]:
        """Read what a cache lacks, by name: what is there after all, and what is absent.

        The caches know only what carries our labels, and somebody may have taken them off.
        """
        there: list[T] = []
        absent: set[str] = set()
        for name in sorted(wanted):
            try:
                there.append(await self._api.get(resource, cluster.namespace, name))
            except NotFound:
                absent.add(name)
        return [obj for obj in there if is_ours(obj, cluster)], frozenset(absent)

    async def _absent_helpers(
        self, cluster: ClusterRef, status: ClusterStatus, present: Collection[str]
    ) -> frozenset[str]:
        """The Pods of a recovery that a live read did not find, while it matters."""
        if not exclusive(status.journal):
            return frozenset()
        every = {task.pod(member) for member in roster(status.journal) for task in Task}
        _, absent = await self._look(PODS, cluster, every.difference(present))
        return absent

    async def _hear(self, helper: Helper) -> Helper:
        """Ask the etcd that forgets its peers how it is; the other Pods of a recovery serve nothing."""
        if helper.task != Task.FORCE or not (helper.pod.ip and helper.pod.running):
            return helper
        said = await self._status(helper.pod)
        if not isinstance(said, Status):
            return helper
        return replace(helper, answer=_answer(said), members=await self._list(helper.pod))

    async def _namespace_ends(self, cluster: ClusterRef) -> bool:
        found = await self._api.get(NAMESPACES, None, cluster.namespace)
        return found.metadata.deletion_timestamp is not None

    async def _ask(
        self, pods: Mapping[str, PodFacts]
    ) -> tuple[dict[str, Answer], tuple[ListedMember, ...] | None, frozenset[str]]:
        """Ask every member that can be reached how it is, and one with a leader for the list."""
        running = [pod for pod in pods.values() if pod.ip and pod.running and not pod.terminal]
        said = await asyncio.gather(*(self._status(pod) for pod in running))
        heard = list(zip(running, said, strict=True))
        answers = {pod.name: _answer(status) for pod, status in heard if isinstance(status, Status)}
        locked = frozenset(pod.name for pod, status in heard if isinstance(status, AuthRequired))
        for pod in running:
            if pod.name in answers and answers[pod.name].leader:
                listed = await self._list(pod)
                if listed is not None:
                    return answers, listed, locked
        return answers, None, locked

    async def _status(self, pod: PodFacts) -> Status | EtcdError:
        try:
            async with self._dialer.dial(Endpoint(pod.ip)) as client:
                return await client.status(deadline=ANSWER_SECONDS)
        except EtcdError as error:
            return error

    async def _learners_known(
        self, status: ClusterStatus, pods: Mapping[str, PodFacts], answers: Mapping[str, Answer]
    ) -> Mapping[str, frozenset[int]]:
        """Ask each member for its own list, which may be behind the quorum's, while that matters."""
        if status.journal.latch is None or is_true(status.conditions, ConditionType.READY):
            return {}
        asked = [name for name in answers if not answers[name].learner]  # a learner lists nothing
        lists = await asyncio.gather(*(self._list(pods[name], linearizable=False) for name in asked))
        return {
            name: frozenset(member.id for member in found if member.learner)
            for name, found in zip(asked, lists, strict=True)
            if found is not None
        }

    async def _list(self, pod: PodFacts, *, linearizable: bool = True) -> tuple[ListedMember, ...] | None:
        try:
            async with self._dialer.dial(Endpoint(pod.ip)) as client:
                listed = await client.member_list(linearizable=linearizable, deadline=LIST_SECONDS)
        except EtcdError:
            return None
        return tuple(
            ListedMember(
                id=member.id,
                name=member.name or names.member_of_url(next(iter(member.peer_urls), "")),
                peer_url=next(iter(member.peer_urls), ""),
                learner=member.is_learner,
                started=member.started,
            )
            for member in listed.members
        )


def _named(pods: Iterable[str], helpers: Iterable[str], volumes: Iterable[str]) -> frozenset[str]:
    """Names as obstacles have them."""
    return frozenset(
        [
            *(f"{PODS.kind}/{name}" for name in (*pods, *helpers)),
            *(f"{PERSISTENT_VOLUME_CLAIMS.kind}/{name}" for name in volumes),
        ]
    )


def _answer(status: Status) -> Answer:
    return Answer(
        cluster_id=status.header.cluster_id,
        member_id=status.header.member_id,
        leader=status.leader,
        version=status.version,
        revision=status.header.revision,
        raft_index=status.raft_index,
        raft_term=status.raft_term,
        raft_applied_index=status.raft_applied_index,
        db_size=status.db_size,
        db_size_in_use=status.db_size_in_use,
        learner=status.is_learner,
        corrupt=frozenset(one.member_id for one in status.alarms if one.type is AlarmType.CORRUPT),
    )
