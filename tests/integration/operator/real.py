"""A namespace of a real API server in which the members of clusters are real etcd."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.api import names
from app.api.conditions import is_true
from app.api.status import ClusterStatus
from app.etcd.client import Client, Dialer
from app.etcd.endpoint import Endpoint
from app.etcd.model import MemberList, Status
from app.etcd.pool import Pool
from app.kube.api import Api
from app.kube.client import connect
from app.kube.informer import Informer
from app.kube.objects import CustomObject
from app.observe.caches import ETCD_CLUSTERS
from app.ops.metrics import Metrics
from tests.integration.etcd.local import DEADLINE, eventually
from tests.integration.operator.beside import beside
from tests.integration.operator.programs import ProgramKubelet
from tests.integration.operator.world import Place

NAMES_KNOWN = 12
"""How many of the names that an operator may give to members of a cluster have an address beforehand."""

DOMAIN = "example.org"
"""A cluster domain that is not the usual one; each member is known under it as well."""


@dataclass(slots=True)
class RealPlace(Place):
    """What is there besides the operator, with real members."""

    dialer: Dialer
    kubelet: ProgramKubelet

    async def apply(self, name: str, **spec: Any) -> CustomObject:
        """Create an EtcdCluster whose members can find each other."""
        made = await self.create(name, **spec)
        self.know(name, *self.future(made))
        return made

    def future(self, cluster: CustomObject) -> list[str]:
        """The names that the operator is going to give to members of a cluster, in order."""
        meta = cluster.metadata
        return [names.member_name(meta.name, meta.uid, index) for index in range(NAMES_KNOWN)]

    def know(self, cluster: str, *members: str) -> None:
        """Give members an address."""
        self.kubelet.hosts.know(cluster, self.namespace, members, domains=("", DOMAIN))

    def endpoint(self, member: str) -> Endpoint:
        """Where a member listens for clients."""
        return Endpoint(self.kubelet.hosts.addresses[member])

    @asynccontextmanager
    async def client(self, member: str) -> AsyncIterator[Client]:
        """A client of a member."""
        async with self.dialer.dial(self.endpoint(member)) as client:
            yield client

    async def status(self, member: str) -> Status:
        """What a member says of itself."""
        async with self.client(member) as client:
            return await client.status(deadline=DEADLINE)

    async def serving(self, member: str) -> Status:
        """Wait until a member knows a leader."""
        return await eventually(lambda: self.status(member), lambda status: status.leader != 0)

    async def listed(self, member: str) -> MemberList:
        """The list as a member gives it."""
        async with self.client(member) as client:
            return await client.member_list(deadline=DEADLINE)

    async def put(self, member: str, key: bytes, value: bytes) -> None:
        """Write a key through a member."""

        async def write() -> None:
            async with self.client(member) as client:
                await client.put(key, value, deadline=DEADLINE)

        await eventually(write)

    async def get(self, member: str, key: bytes) -> bytes | None:
        """Read a key through the quorum."""

        async def read() -> bytes | None:
            async with self.client(member) as client:
                return (await client.get(key, deadline=DEADLINE)).value

        return await eventually(read)

    async def settled(self, name: str, size: int) -> ClusterStatus:
        """Wait until a cluster has that many members and all are ready."""

        def reached(status: ClusterStatus) -> bool:
            return is_true(status.conditions, "Ready") and status.size == status.ready_members == size

        return await self.until(name, reached)


@asynccontextmanager
async def real_place(namespace: str, kubeconfig: Path, root: Path) -> AsyncIterator[RealPlace]:
    """Make it for the length of the block."""
    metrics = Metrics()
    transport = await connect(str(kubeconfig), metrics=metrics)
    api, pool = Api(transport), Pool()
    clusters = Informer(api, ETCD_CLUSTERS, namespace=namespace, metrics=metrics)
    kubelet = ProgramKubelet(api, namespace, pool, root)
    try:
        async with beside(clusters.run(), kubelet.run()):
            await clusters.synced.wait()
            yield RealPlace(api, namespace, kubeconfig, clusters, pool, kubelet)
    finally:
        kubelet.close()
        await pool.close()
        await transport.close()
