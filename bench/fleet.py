"""Many clusters on an API server without nodes: real objects, and members that only pretend.

The custom resources, and what the operator makes of them, are real. A kubelet of ours says that each Pod runs
and is ready, at a loopback address of its own; there a stub answers in etcd's place, for all of them.
"""

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.api import names
from app.etcd import identity
from app.kube.api import Api
from app.kube.errors import NotFound
from app.kube.objects import CustomObject, Pod
from app.kube.resources import NAMESPACES, PODS
from app.observe.caches import ETCD_CLUSTERS
from bench.following import Follower, following
from bench.programs import pinned
from bench.stage import ETCD_VERSION
from tests.cluster import binaries

NAMESPACE = "bench-scale"
SIZE = 3
_AT_ONCE = 16
_FILES = 16384


def _name(index: int) -> str:
    return f"c{index:05}"


def address(cluster: int, member: int) -> str:
    """The loopback address of a member, from 127.16.0.1 on; disjoint for up to 60,000 clusters."""
    return f"127.{16 + cluster // 250}.{cluster % 250}.{member + 1}"


@dataclass
class Fleet:
    """The clusters of `NAMESPACE`, as they are known to everybody who pretends."""

    api: Api
    clusters: Follower[CustomObject]
    stub: asyncio.subprocess.Process
    number: int = 0
    _addresses: dict[str, asyncio.Future[str]] = field(default_factory=dict)
    _telling: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def grow(self, number: int) -> None:
        """Create so many clusters; their members answer from the moment they are ready."""
        have, self.number = self.number, self.number + number
        await _in_parallel(self._add(index) for index in range(have, have + number))

    async def _add(self, index: int) -> None:
        body = {"metadata": {"name": _name(index)}, "spec": {"size": SIZE, "version": ETCD_VERSION}}
        made = await self.api.create(ETCD_CLUSTERS, body, namespace=NAMESPACE)
        told = describe(made, index)
        await self._tell(told)
        for one in told["members"]:
            self._address(one["name"]).set_result(one["address"])

    async def silence(self, index: int) -> str:
        """Let no member of a cluster answer any more, while their Pods stay as they are; returns its name."""
        name = _name(index)
        known = self.clusters.store.get(f"{NAMESPACE}/{name}")
        assert known is not None
        await self._tell({**describe(known, index), "silent": True})
        return name

    async def _tell(self, told: dict[str, Any]) -> None:
        """Tell the stub of a cluster, and wait until it knows."""
        assert self.stub.stdin is not None
        assert self.stub.stdout is not None
        async with self._telling:
            self.stub.stdin.write(json.dumps(told).encode() + b"\n")
            await self.stub.stdin.drain()
            await self.stub.stdout.readline()

    def _address(self, pod: str) -> asyncio.Future[str]:
        """Where a Pod will be, once somebody answers there."""
        return self._addresses.setdefault(pod, asyncio.get_running_loop().create_future())

    async def edit(self, name: str, *, paused: bool) -> None:
        """Change the spec of a cluster, in a way that asks nothing but attention of an operator."""
        await self.api.patch(ETCD_CLUSTERS, NAMESPACE, name, {"spec": {"paused": paused}})

    async def edit_all(self, *, paused: bool) -> None:
        """Change the spec of every cluster."""
        keys = [one.metadata.name for one in self.clusters.store.values()]
        await _in_parallel(self.edit(name, paused=paused) for name in keys)
        await self.clusters.until(
            lambda objects: all(bool(one.spec.get("paused")) is paused for one in objects),
            seconds=60,
            what="the edits to be seen",
        )

    async def reconciled(self, *, seconds: float) -> None:
        """Wait until an operator has written into every status that it has seen the latest spec."""
        await self.clusters.until(
            lambda objects: all(map(_is_reconciled, objects)),
            seconds=seconds,
            what="every cluster to be reconciled",
        )

    def count_reconciled(self) -> int:
        """How many clusters are."""
        return sum(map(_is_reconciled, self.clusters.store.values()))

    async def ready(self, *, seconds: float) -> None:
        """Wait until every cluster has its members."""
        await self.clusters.until(
            lambda objects: all(one.status.get("readyMembers") == SIZE for one in objects),
            seconds=seconds,
            what="every cluster to be ready",
        )

    async def serve(self, pods: Follower[Pod]) -> None:
        """Be the kubelet of every Pod, until cancelled."""
        waiting: asyncio.Queue[str] = asyncio.Queue()

        def changed(old: Pod | None, new: Pod | None) -> None:
            if old is None and new is not None and not new.status.pod_ip:
                waiting.put_nowait(new.metadata.name)

        pods.subscribe(changed)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_AT_ONCE):
                tasks.create_task(self._run_pods(waiting))

    async def _run_pods(self, waiting: asyncio.Queue[str]) -> None:
        while True:
            name = await waiting.get()
            try:
                body = {"status": running(await self._address(name))}
                await self.api.patch(PODS, NAMESPACE, name, body, subresource="status", deadline=60)
            except NotFound:
                continue


def _is_reconciled(one: CustomObject) -> bool:
    return bool(one.status.get("observedGeneration") == one.metadata.generation)


def describe(made: CustomObject, index: int) -> dict[str, Any]:
    """What the stub has to know of a cluster: the same ids that etcd would compute."""
    meta = made.metadata
    members = [names.member_name(meta.name, meta.uid, position) for position in range(SIZE)]
    urls = {one: names.peer_url(one, cluster=meta.name, namespace=meta.namespace) for one in members}
    ids = identity.bootstrap(urls, token=meta.uid)
    return {
        "id": ids.cluster_id,
        "version": ETCD_VERSION,
        "members": [
            {
                "address": address(index, position),
                "id": ids.member_ids[name],
                "name": name,
                "peer_url": urls[name],
            }
            for position, name in enumerate(members)
        ],
    }


def running(ip: str) -> dict[str, Any]:
    """The status of a Pod that runs and is ready."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kinds = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    container = {
        "name": "etcd",
        "image": f"quay.io/coreos/etcd:v{ETCD_VERSION}",
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
    }
    return {
        "phase": "Running",
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": now,
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds],
        "containerStatuses": [container],
    }


@asynccontextmanager
async def fleet(api: Api, *, processor: int) -> AsyncIterator[Fleet]:
    """An empty fleet; what it will have goes with it."""
    recipe = binaries.Tool("3.6.16", {"etcd-stub": "bench/etcdstub"}, expected_seconds=60)
    program = binaries.built("etcd-stub", Path(__file__).parent / "etcd_stub", recipe)["etcd-stub"]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, hard), hard))
    await api.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    pipe = asyncio.subprocess.PIPE
    stub = await asyncio.create_subprocess_exec(*pinned(processor, [program]), stdin=pipe, stdout=pipe)
    try:
        async with (
            following(api, ETCD_CLUSTERS, namespace=NAMESPACE) as clusters,
            following(api, PODS, namespace=NAMESPACE) as pods,
        ):
            made = Fleet(api, clusters, stub)
            kubelet = asyncio.create_task(made.serve(pods))
            try:
                yield made
            finally:
                kubelet.cancel()
                await asyncio.wait([kubelet])
    finally:
        stub.terminate()
        await stub.wait()
        await api.delete(NAMESPACES, None, NAMESPACE)


async def _in_parallel(work: Iterator[Any]) -> None:
    """Do all of it, a few at a time."""

    async def take() -> None:
        for one in work:  # shared: each is taken by one
            await one

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(take())
