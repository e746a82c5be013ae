"""How long a new cluster takes, from the custom resource applied to the condition Available.

The floor is what Kubernetes and etcd take by themselves: the three Pods and the headless Service that the
operator would make, built by its own code (same image, arguments, probes, resources, placement), but all
sent at once by a client that knows everything beforehand.

Both sides end by the same rule, seen through the same kind of watch. Available means that a quorum of the
members is ready, by the kubelet's word and etcd's own. The floor ends when a quorum of its Pods is Ready:
their readiness probe asks etcd for a linearizable read, so etcd's word is in it. That all three are members
is checked after the clock has stopped. The times to three ready members are told as well.
"""

import asyncio
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from app.api import names
from app.api.base import JsonObject
from app.api.cluster import ClusterSpec
from app.api.defaults import default
from app.api.status import Bootstrap, Journal
from app.build.common import CLUSTER_LABEL, Platform
from app.build.pod import pod as build_pod
from app.build.service import service as build_service
from app.etcd.endpoint import Endpoint
from app.etcd.pool import Pool
from app.kube.api import Api
from app.kube.objects import CustomObject, Pod
from app.kube.resources import NAMESPACES, PODS, SERVICES
from app.observe.caches import ETCD_CLUSTERS
from app.plan import starting
from app.plan.observed import ClusterRef
from bench.following import Follower, connected, following, is_true
from bench.result import Goal, Result
from bench.samples import interleaved, summary
from bench.stage import ETCD_VERSION, Stage
from tests.cluster.progress import say

NAMESPACE = "bench-bootstrap"
SIZE = 3
QUORUM = 2
_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds from the first request until a quorum serves, and until every member is ready."""

    available: float
    ready: float


def run(stage: Stage) -> Iterable[Result]:
    """Measure both sides on the cluster with nodes."""
    return asyncio.run(_run(stage))


async def _run(stage: Stage) -> list[Result]:
    kubeconfig = stage.cluster.kubeconfig
    async with connected(kubeconfig) as api:
        await api.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        try:
            async with (
                following(api, PODS, namespace=NAMESPACE) as pods,
                following(api, ETCD_CLUSTERS, namespace=NAMESPACE) as clusters,
            ):
                bench = _Bench(api, pods, clusters)
                found = await interleaved(
                    {"operator": bench.operator, "floor": bench.floor}, repetitions=stage.repetitions
                )
        finally:
            await api.delete(NAMESPACES, None, NAMESPACE)
    ours, floor = found["operator"], found["floor"]
    for name, times in found.items():
        say(f"  {name}: Available {summary([one.available for one in times])}")
        say(f"  {name}: all ready {summary([one.ready for one in times])}")
    return [
        Result(
            "bootstrap",
            "s",
            median(one.available for one in ours),
            median(one.available for one in floor),
            goal=Goal(1.5),
        ),
        Result(
            "bootstrap-all-ready", "s", median(one.ready for one in ours), median(one.ready for one in floor)
        ),
    ]


class _Bench:
    """The two sides, each called with the number of a round."""

    def __init__(self, api: Api, pods: Follower[Pod], clusters: Follower[CustomObject]) -> None:
        self._api = api
        self._pods = pods
        self._clusters = clusters

    async def operator(self, turn: int) -> Times:
        """Apply a custom resource."""
        name = f"ours-{turn}"
        body = {"metadata": {"name": name}, "spec": {"size": SIZE, "version": ETCD_VERSION}}
        begun = time.perf_counter()
        await self._api.create(ETCD_CLUSTERS, body, namespace=NAMESPACE)
        times = Times(
            available=await self._condition("Available", since=begun),
            ready=await self._condition("Ready", since=begun),
        )
        await self._check(name)
        await self._api.delete(ETCD_CLUSTERS, NAMESPACE, name)
        await self._gone()
        return times

    async def floor(self, turn: int) -> Times:
        """Create all objects at once."""
        cluster = ClusterRef(f"bare-{turn}", NAMESPACE, uid=str(uuid.uuid4()), generation=1)
        service, pods = bare(cluster)
        begun = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._api.create(SERVICES, service))
            for pod in pods:
                tasks.create_task(self._api.create(PODS, pod))
        times = Times(
            available=await self._ready(QUORUM, since=begun), ready=await self._ready(SIZE, since=begun)
        )
        await self._check(cluster.name)
        for pod in pods:
            await self._api.delete(PODS, NAMESPACE, pod["metadata"]["name"])
        await self._api.delete(SERVICES, NAMESPACE, service["metadata"]["name"])
        await self._gone()
        return times

    async def _condition(self, kind: str, *, since: float) -> float:
        await self._clusters.until(
            lambda objects: any(is_true(one.status.get("conditions"), kind) for one in objects),
            seconds=_TIMEOUT,
            what=f"the condition {kind}",
        )
        return time.perf_counter() - since

    async def _ready(self, number: int, *, since: float) -> float:
        await self._pods.until(
            lambda pods: sum(_is_ready(one) for one in pods) >= number,
            seconds=_TIMEOUT,
            what=f"{number} ready Pods",
        )
        return time.perf_counter() - since

    async def _check(self, cluster: str) -> None:
        """Raise RuntimeError unless every Pod is a member of one etcd cluster of three."""
        pool = Pool()
        try:
            for pod in self._pods.store.values():
                if pod.metadata.label(CLUSTER_LABEL) != cluster:
                    raise RuntimeError(f"{pod.metadata.name} is not a Pod of {cluster}")
                async with pool.dial(Endpoint(pod.status.pod_ip)) as client:
                    listed = await client.member_list(linearizable=True, deadline=5)
                if len(listed.members) != SIZE:
                    raise RuntimeError(f"{pod.metadata.name} knows {len(listed.members)} members")
        finally:
            await pool.close()

    async def _gone(self) -> None:
        """Wait until nothing of a round runs any more, so that the next one has the machine for itself."""
        await self._pods.until(lambda pods: not pods, seconds=_TIMEOUT, what="the Pods to go")
        await self._clusters.until(lambda objects: not objects, seconds=_TIMEOUT, what="the cluster to go")


def bare(cluster: ClusterRef) -> tuple[JsonObject, list[JsonObject]]:
    """The headless Service and the Pods that the operator would make, as nobody's children."""
    filled = default({"spec": {"size": SIZE, "version": ETCD_VERSION}})
    spec = ClusterSpec.model_validate(filled["spec"])
    members = [names.member_name(cluster.name, cluster.uid, index) for index in range(SIZE)]
    journal = Journal(bootstrap=Bootstrap(members=tuple(members), token=cluster.uid, cluster_id=""))
    service = build_service(cluster, spec.service, name=names.peer_service(cluster.name), client=False)
    pods = [
        build_pod(cluster, spec, starting.pod(member, cluster, spec, journal), platform=Platform())
        for member in members
    ]
    for one in (service, *pods):
        del one["metadata"]["ownerReferences"]  # to a custom resource that there is not
    return service, pods


def _is_ready(pod: Pod) -> bool:
    condition = pod.status.condition("Ready")
    return condition is not None and condition.status == "True"
