"""A cluster under measurement, as its Pods and its etcd show it; and one without an operator, kept by hand.

The hand belongs to a client that knows everything beforehand and asks etcd every few milliseconds: what it
takes is what Kubernetes and etcd take by themselves.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from app.api import names
from app.api.base import JsonObject
from app.api.cluster import ClusterSpec
from app.api.defaults import default
from app.api.status import Bootstrap, Journal, Latch, LatchedMember
from app.build.common import CLUSTER_LABEL, Platform
from app.build.pod import pod as build_pod
from app.build.service import service as build_service
from app.build.volume import claim as build_claim
from app.etcd import identity
from app.etcd.client import Client, Dialer
from app.etcd.endpoint import Endpoint
from app.etcd.errors import EtcdError
from app.etcd.model import Member
from app.kube.api import Api
from app.kube.objects import Pod
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS, SERVICES
from app.plan import starting
from app.plan.observed import ClusterRef
from bench.following import Follower
from bench.stage import ETCD_VERSION

T = TypeVar("T")

VOLUME: JsonObject = {"resources": {"requests": {"storage": "64Mi"}}}
TIMEOUT_SECONDS = 90.0
CALL_SECONDS = 2.0
ASK_SECONDS = 0.02


class Members:
    """The members of one cluster. Every wait raises TimeoutError."""

    def __init__(self, cluster: ClusterRef, api: Api, pods: Follower[Pod], dialer: Dialer) -> None:
        self.cluster = cluster
        self._api = api
        self._all = pods
        self._dialer = dialer

    def pods(self) -> dict[str, Pod]:
        """Its Pods by name."""
        return {
            pod.metadata.name: pod
            for pod in self._all.store.values()
            if pod.metadata.label(CLUSTER_LABEL) == self.cluster.name
        }

    async def kill(self, *members: str) -> dict[str, str]:
        """Delete the Pods of members; the uids that they had."""
        uids = {member: self.pods()[member].metadata.uid for member in members}
        async with asyncio.TaskGroup() as tasks:
            for member in members:
                tasks.create_task(self._api.delete(PODS, self.cluster.namespace, member))
        return uids

    async def ready(self, size: int, *, without: dict[str, str] | None = None) -> None:
        """Wait for so many Pods, all of them ready and none of those with these uids."""

        def reached(_every: list[Pod]) -> bool:
            pods = self.pods().values()
            gone = set((without or {}).values())
            return len(pods) == size and all(
                is_ready(pod) and pod.metadata.uid not in gone and pod.metadata.deletion_timestamp is None
                for pod in pods
            )

        await self._all.until(reached, seconds=TIMEOUT_SECONDS, what=f"{size} ready Pods")

    async def leader(self) -> str:
        """The name of the member that leads."""

        async def leads(name: str) -> str:
            try:
                async with self._to(name) as client:
                    return name if (await client.status(deadline=CALL_SECONDS)).is_leader else ""
            except EtcdError:
                return ""

        async def ask() -> str:
            # All at once, the first yes counts: one that is being stopped may not answer at all.
            for answer in asyncio.as_completed([leads(name) for name in self.pods()]):
                if name := await answer:
                    return name
            return ""

        return await until(ask, what="a leader")

    async def listed(self, size: int) -> tuple[Member, ...]:
        """Wait until etcd lists so many members; returns them."""

        async def ask() -> tuple[Member, ...]:
            async with self._to(await self.leader()) as client:
                members = (await client.member_list(deadline=CALL_SECONDS)).members
            return members if len(members) == size else ()

        return await until(ask, what=f"a list of {size} members")

    def _to(self, member: str) -> AbstractAsyncContextManager[Client]:
        return self._dialer.dial(Endpoint(self.pods()[member].status.pod_ip))


class ByHand(Members):
    """A cluster of three on volumes that no operator looks after."""

    def __init__(self, cluster: ClusterRef, api: Api, pods: Follower[Pod], dialer: Dialer) -> None:
        super().__init__(cluster, api, pods, dialer)
        filled = default({"spec": {"size": 3, "version": ETCD_VERSION}})
        filled["spec"]["pod"] = {**filled["spec"].get("pod", {}), "persistentVolumeClaimSpec": VOLUME}
        self._spec = ClusterSpec.model_validate(filled["spec"])
        self._members = [self._name(index) for index in range(3)]
        urls = starting.peer_urls(cluster, self._spec, self._members)
        self._id = identity.bootstrap(urls, token=cluster.uid).cluster_id
        self._next = 3

    async def found(self) -> None:
        """Start it."""
        made = build_service(
            self.cluster, self._spec.service, name=names.peer_service(self.cluster.name), client=False
        )
        await self._api.create(SERVICES, _nobodys(made))
        founding = Journal(bootstrap=self._bootstrap())
        async with asyncio.TaskGroup() as tasks:
            for member in self._members:
                tasks.create_task(self._start(member, founding))
        await self.ready(3)

    async def bring_back(self, uids: dict[str, str]) -> None:
        """Make the Pods of members anew as soon as the old ones are gone."""

        async def one(member: str, uid: str) -> None:
            def gone(_every: list[Pod]) -> bool:
                pod = self.pods().get(member)
                return pod is None or pod.metadata.uid != uid

            await self._all.until(gone, seconds=TIMEOUT_SECONDS, what=f"the end of {member}")
            await self._make(member, self._served())

        async with asyncio.TaskGroup() as tasks:
            for member, uid in uids.items():
                tasks.create_task(one(member, uid))

    async def grow(self) -> None:
        """Add a member: as a learner as soon as etcd takes one, and promoted as soon as etcd agrees."""
        member = self._name(self._next)
        self._next += 1
        url = starting.peer_urls(self.cluster, self._spec, [member])[member]

        async def add(client: Client) -> int:
            return (await client.member_add([url], deadline=CALL_SECONDS)).member.id

        number = await self._change(add, what=f"the adding of {member}")
        self._members.append(member)
        await self._start(member, self._served(without=member))

        async def promote(client: Client) -> bool:
            await client.member_promote(number, deadline=CALL_SECONDS)
            return True

        await self._change(promote, what=f"the promotion of {member}")

    async def shrink(self) -> None:
        """Remove a member that does not lead, and what belongs to it."""
        leader = await self.leader()
        victim = next(member for member in reversed(self._members) if member != leader)
        (number,) = [one.id for one in await self.listed(len(self._members)) if one.name == victim]

        async def remove(client: Client) -> bool:
            await client.member_remove(number, deadline=CALL_SECONDS)
            return True

        await self._change(remove, what=f"the removal of {victim}")
        self._members.remove(victim)
        await self._api.delete(PODS, self.cluster.namespace, victim)
        await self._api.delete(PERSISTENT_VOLUME_CLAIMS, self.cluster.namespace, victim)

    async def remove_everything(self) -> None:
        """Delete all of it."""
        for member in self.pods():
            await self._api.delete(PODS, self.cluster.namespace, member)

    async def _change(self, change: Callable[[Client], Awaitable[T]], *, what: str) -> T:
        # The leader may refuse for good for no good reason (see `app.plan.membership.ways`), so all are asked
        # in turn.
        leader = await self.leader()
        turns = itertools.cycle([leader, *(member for member in self._members if member != leader)])

        async def attempt() -> T:
            async with self._to(next(turns)) as client:
                await client.expect(cluster_id=self._id, member_id=None, deadline=CALL_SECONDS)
                return await change(client)

        return await until(attempt, what=what)

    async def _start(self, member: str, journal: Journal) -> None:
        body = build_claim(self.cluster, member=member, spec=VOLUME)
        await self._api.create(PERSISTENT_VOLUME_CLAIMS, _nobodys(body))
        await self._make(member, journal)

    async def _make(self, member: str, journal: Journal) -> None:
        action = starting.pod(member, self.cluster, self._spec, journal)
        body = build_pod(self.cluster, self._spec, action, platform=Platform())
        await self._api.create(PODS, _nobodys(body))

    def _bootstrap(self) -> Bootstrap:
        return Bootstrap(members=tuple(self._members[:3]), token=self.cluster.uid, cluster_id="")

    def _served(self, *, without: str = "") -> Journal:
        """What is known of the members: who is one, and that all but one have served."""
        served = {name: LatchedMember(id="1") for name in self._members if name != without}
        latch = Latch(cluster_id=identity.text(self._id), members=served, roster=tuple(self._members))
        return Journal(bootstrap=self._bootstrap(), latch=latch)

    def _name(self, index: int) -> str:
        return names.member_name(self.cluster.name, self.cluster.uid, index)


async def until(attempt: Callable[[], Awaitable[T]], *, what: str) -> T:
    """Repeat until an attempt returns something true; errors of etcd mean "not yet"."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                try:
                    if found := await attempt():
                        return found
                except EtcdError:
                    pass
                await asyncio.sleep(ASK_SECONDS)
    except TimeoutError:
        raise TimeoutError(f"Waited {TIMEOUT_SECONDS:g} s for {what}") from None


def is_ready(pod: Pod) -> bool:
    """Whether the kubelet says that a Pod is ready."""
    condition = pod.status.condition("Ready")
    return condition is not None and condition.status == "True"


def _nobodys(body: JsonObject) -> JsonObject:
    """An object without its owner, a custom resource that there is not."""
    del body["metadata"]["ownerReferences"]
    return body
