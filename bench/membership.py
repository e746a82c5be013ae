"""How fast members that are lost come back, and how fast a cluster grows and shrinks, on volumes.

The floor is the same done by hand on a cluster beside it, see `bench.members`. Each step begins with
everything healthy. It ends when as many Pods as wanted are ready, which a learner never is; or, for
shrinking, when etcd lists no more members than wanted. Growing has a wait of etcd's own in it: it adds no
member until all voters have been connected for 5 s, so the second one waits for the first.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from statistics import median

from app.etcd.pool import Pool
from app.kube.api import Api
from app.kube.objects import CustomObject, Pod
from app.kube.resources import NAMESPACES, PODS
from app.observe.caches import ETCD_CLUSTERS
from app.plan.observed import ClusterRef
from bench.following import Follower, connected, following, is_true
from bench.members import TIMEOUT_SECONDS, VOLUME, ByHand, Members
from bench.result import Goal, Result
from bench.samples import interleaved, summary
from bench.stage import ETCD_VERSION, Stage
from bench.writing import Writers
from tests.cluster.progress import say

NAMESPACE = "bench-membership"
SMALL, LARGE = 3, 5
CONNECTED_SECONDS = 5.5
"""How long a cluster is left alone before a step, so that etcd's members count as connected."""

GAP = Goal(0.5, of="value")
"""How long a planned change may keep a cluster from taking writes, in seconds."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: until a step was done, and the longest without a write meanwhile."""

    done: float
    gap: float


Step = Callable[[], Awaitable[None]]
Side = dict[str, Step]
STEPS = {
    "follower": "a follower's Pod deleted",
    "leader": "the leader's Pod deleted",
    "two-pods": "the Pods of two of three deleted",
    "grow": "3 to 5",
    "shrink": "5 to 3",
}
PLANNED = ("grow", "shrink")


def run(stage: Stage) -> Iterable[Result]:
    """Measure both sides on the cluster with nodes."""
    return asyncio.run(_run(stage))


async def _run(stage: Stage) -> list[Result]:
    pool = Pool()
    async with connected(stage.cluster.kubeconfig) as api:
        await api.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        try:
            async with (
                following(api, PODS, namespace=NAMESPACE) as pods,
                following(api, ETCD_CLUSTERS, namespace=NAMESPACE) as clusters,
            ):
                ours = _Ours(ClusterRef("ours", NAMESPACE, uid="", generation=1), api, pods, pool, clusters)
                bare = ByHand(
                    ClusterRef("bare", NAMESPACE, uid=str(uuid.uuid4()), generation=1), api, pods, pool
                )
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(ours.found())
                    tasks.create_task(bare.found())
                sides = {
                    "operator": _Rounds(ours, ours.steps(), pool),
                    "floor": _Rounds(bare, _by_hand(bare), pool),
                }
                found = await interleaved(
                    {name: side.round for name, side in sides.items()},
                    repetitions=stage.repetitions,
                    warm_ups=0,
                )
        finally:
            await pool.close()
            await api.delete(NAMESPACES, None, NAMESPACE)
    return _results(found["operator"], found["floor"])


def _results(ours: list[dict[str, Times]], floor: list[dict[str, Times]]) -> list[Result]:
    results = []
    for step, about in STEPS.items():
        for name, rounds in (("operator", ours), ("floor", floor)):
            say(f"  {about}, {name}: {summary([one[step].done for one in rounds])}")
            say(f"  {about}, {name}, no write: {summary([one[step].gap for one in rounds])}")
        done, bare = (median(one[step].done for one in rounds) for rounds in (ours, floor))
        gap, bare_gap = (max(one[step].gap for one in rounds) for rounds in (ours, floor))
        goal = GAP if step in PLANNED else None
        results += [
            Result(f"membership-{step}", "s", done, bare),
            Result(f"membership-{step}-gap", "s", gap, bare_gap, goal=goal),
        ]
    return results


class _Ours(Members):
    """A cluster with an operator."""

    def __init__(
        self,
        cluster: ClusterRef,
        api: Api,
        pods: Follower[Pod],
        pool: Pool,
        clusters: Follower[CustomObject],
    ) -> None:
        super().__init__(cluster, api, pods, pool)
        self._clusters = clusters

    async def found(self) -> None:
        spec = {"size": SMALL, "version": ETCD_VERSION, "pod": {"persistentVolumeClaimSpec": VOLUME}}
        body = {"metadata": {"name": self.cluster.name}, "spec": spec}
        await self._api.create(ETCD_CLUSTERS, body, namespace=NAMESPACE)
        await self.settled()

    async def settled(self) -> None:
        """Wait until the operator has nothing left to do."""
        await self._clusters.until(
            lambda objects: any(
                is_true(one.status.get("conditions"), "Ready")
                and one.status.get("observedGeneration") == one.metadata.generation
                for one in objects
            ),
            seconds=TIMEOUT_SECONDS,
            what="the condition Ready",
        )

    def steps(self) -> Side:
        async def kill(*members: str) -> None:
            await self.ready(SMALL, without=await self.kill(*members))

        async def resize(size: int) -> None:
            await self._api.patch(ETCD_CLUSTERS, NAMESPACE, self.cluster.name, {"spec": {"size": size}})

        async def grow() -> None:
            await resize(LARGE)
            await self.ready(LARGE)

        async def shrink() -> None:
            await resize(SMALL)
            await self.listed(SMALL)

        return _steps(self, kill, grow, shrink)


def _by_hand(bare: ByHand) -> Side:
    async def kill(*members: str) -> None:
        uids = await bare.kill(*members)
        await bare.bring_back(uids)
        await bare.ready(SMALL, without=uids)

    async def grow() -> None:
        for _ in range(LARGE - SMALL):
            await bare.grow()
        await bare.ready(LARGE)

    async def shrink() -> None:
        for _ in range(LARGE - SMALL):
            await bare.shrink()
        await bare.listed(SMALL)

    return _steps(bare, kill, grow, shrink)


def _steps(members: Members, kill: Callable[..., Awaitable[None]], grow: Step, shrink: Step) -> Side:
    async def followers(number: int) -> list[str]:
        leader = await members.leader()
        return sorted(name for name in members.pods() if name != leader)[:number]

    async def follower() -> None:
        await kill(*await followers(1))

    async def leader() -> None:
        await kill(await members.leader())

    async def two_pods() -> None:
        await kill(*await followers(1), await members.leader())

    return {"follower": follower, "leader": leader, "two-pods": two_pods, "grow": grow, "shrink": shrink}


class _Rounds:
    """All steps of one side, one after the other."""

    def __init__(self, members: Members, steps: Side, pool: Pool) -> None:
        self._members = members
        self._steps = steps
        self._pool = pool

    async def round(self, _turn: int) -> dict[str, Times]:
        return {name: await self._measure(name, step) for name, step in self._steps.items()}

    async def _measure(self, name: str, step: Step) -> Times:
        await self._members.ready(LARGE if name == "shrink" else SMALL)
        if isinstance(self._members, _Ours):
            await self._members.settled()
        await asyncio.sleep(CONNECTED_SECONDS)
        async with Writers(self._pool, self._addresses).writing() as writers:
            begun = time.perf_counter()
            await step()
            return Times(time.perf_counter() - begun, writers.longest_gap())

    def _addresses(self) -> list[str]:
        return [pod.status.pod_ip for pod in self._members.pods().values() if pod.status.pod_ip]
