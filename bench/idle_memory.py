"""How much memory the operator's process holds when it has one cluster and nothing to do.

Each replica is measured in its Pod, after the cluster has been founded, when its size has stopped moving; the
result is the larger of them, which is the leader's as a rule.
"""

import asyncio
from collections.abc import Iterable

from app.kube.resources import NAMESPACES
from app.observe.caches import ETCD_CLUSTERS
from bench import memory
from bench.following import connected, following, is_true
from bench.result import Goal, Result
from bench.stage import ETCD_VERSION, OPERATOR, OPERATOR_NAMESPACE, Stage
from tests.cluster.cluster import Cluster
from tests.cluster.progress import say

NAMESPACE = "bench-idle"
LIMIT_MIB = 90


def run(stage: Stage) -> Iterable[Result]:
    """Measure on the cluster with nodes."""
    found = asyncio.run(_run(stage.cluster))
    return [
        Result("idle-memory", "MiB", max(one.rss for one in found), goal=Goal(LIMIT_MIB, of="value")),
        Result("idle-memory-pss", "MiB", max(one.pss for one in found)),
    ]


async def _run(cluster: Cluster) -> list[memory.Memory]:
    async with connected(cluster.kubeconfig) as api:
        await api.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        try:
            async with following(api, ETCD_CLUSTERS, namespace=NAMESPACE) as clusters:
                body = {"metadata": {"name": "idle"}, "spec": {"size": 3, "version": ETCD_VERSION}}
                await api.create(ETCD_CLUSTERS, body, namespace=NAMESPACE)
                await clusters.until(
                    lambda objects: any(is_true(one.status.get("conditions"), "Ready") for one in objects),
                    seconds=60,
                    what="the cluster to be ready",
                )
            return await asyncio.to_thread(_replicas, cluster)
        finally:
            await api.delete(NAMESPACES, None, NAMESPACE)


def _replicas(cluster: Cluster) -> list[memory.Memory]:
    found = []
    for pod in cluster.pods(OPERATOR_NAMESPACE, f"name={OPERATOR}"):
        pid = cluster.container_processes(pod)[0]
        one = memory.settled(lambda pid=pid: memory.of(pid))  # type: ignore[misc]  # a default binds the loop's value
        say(f"  {pod.name}: {one.rss:.1f} MiB resident, {one.pss:.1f} MiB with shared pages counted in part")
        found.append(one)
    return found
