"""An operator's webhook side as it runs in a Pod, many times over, and the way the API server reaches it."""

import asyncio
import base64
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import yaml

from app.kube.api import Api
from app.kube.errors import NotFound
from app.kube.objects import CustomObject, WebhookConfiguration
from app.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from app.ops.metrics import Metrics
from certs.access import KubeAccess
from certs.certificates import utc_now
from certs.managed import ManagedCertificates
from certs.rotation import Settings
from webhooks.routes import hooks, rules_of
from webhooks.server import WebhookServer

MANIFESTS = Path(__file__).parents[3] / "manifests"
ETCD_CLUSTERS = Resource("etcd.database.coreos.com", "v1beta2", "etcdclusters", "EtcdCluster", CustomObject)
RESOURCES: dict[str, Resource[WebhookConfiguration]] = {
    "MutatingWebhookConfiguration": MUTATING_WEBHOOKS,
    "ValidatingWebhookConfiguration": VALIDATING_WEBHOOKS,
}
NOBODY: Mapping[str, str] = MappingProxyType({})
SERVICE = "etcd-operator-webhook"
SECRET = "etcd-operator-webhook-ca"
LONG = Settings(ca_lifetime=timedelta(days=365), leaf_lifetime=timedelta(days=7), soak=timedelta(seconds=60))


def local_address(server: str) -> str:
    """The address of this machine that the API server can reach: the one we reach it from."""
    parts = urlsplit(server)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((parts.hostname, parts.port or 443))
        return str(probe.getsockname()[0])


def configurations(*, name: str, namespace: str, url: str) -> list[dict[str, Any]]:
    """The shipped configurations, for one namespace only, called by address in place of the Service."""
    found = []
    for file in ("mutating.yaml", "validating.yaml"):
        manifest = yaml.safe_load((MANIFESTS / "webhook" / file).read_text())
        manifest["metadata"]["name"] = name
        for webhook in manifest["webhooks"]:
            path = webhook["clientConfig"].pop("service")["path"]
            webhook["clientConfig"]["url"] = url + path
            webhook["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        found.append(manifest)
    return found


class Replica:
    """Certificates and server of one Pod."""

    def __init__(
        self,
        api: Api,
        *,
        address: str,
        namespace: str,
        configuration: str,
        settings: Settings = LONG,
        neighbours: Mapping[str, str] = NOBODY,
    ) -> None:
        self.metrics = Metrics()
        self.address = address
        with socket.socket() as free:
            free.bind((address, 0))
            self.port = free.getsockname()[1]
        access = KubeAccess(
            api,
            namespace=namespace,
            secret=SECRET,
            configuration=configuration,
            service=SERVICE,
            metrics=self.metrics,
        )
        self.certificates = ManagedCertificates(
            access,
            names=(address, f"{SERVICE}.{namespace}.svc"),
            name=f"{SERVICE}.{namespace}.svc",
            port=self.port,
            settings=settings,
            metrics=self.metrics,
            clock=utc_now,
        )
        self.server = WebhookServer(
            hooks=hooks(rules_of(lambda _namespace: neighbours)),
            ssl_context=self.certificates.ssl_context,
            metrics=self.metrics,
            host="0.0.0.0",
            port=self.port,
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self.certificates.run())
        await self.certificates.loaded.wait()
        await self.server.start()

    async def ready(self, *, seconds: float = 20) -> None:
        why: str | None = ""
        try:
            async with asyncio.timeout(seconds):
                while (why := await self.certificates.check()) is not None:  # noqa: ASYNC110 - as a kubelet
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(f"Not ready after {seconds} s: {why}") from None

    async def stop(self) -> None:
        await self.server.stop()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def served(self, path: str, code: int = 200) -> float:
        value: float = self.metrics.webhook_requests.labels(path, str(code))._value.get()
        return value


class Balancer:
    """What a Service does: each new connection goes to one of the endpoints, which may change."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.port = 0
        self.endpoints: list[Replica] = []
        self._turn = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"https://{self.address}:{self.port}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connect, self.address, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._server.wait_closed()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            self._turn += 1
            endpoint = self.endpoints[self._turn % len(self.endpoints)]
            back_reader, back_writer = await asyncio.open_connection(endpoint.address, endpoint.port)
            await asyncio.gather(_pipe(reader, back_writer), _pipe(back_reader, writer))
        except (OSError, asyncio.CancelledError):
            writer.close()
        finally:
            self._tasks.discard(task)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


class Stack:
    """All of an installation's webhook side: configurations, a Service, replicas behind it."""

    def __init__(
        self,
        api: Api,
        *,
        address: str,
        namespace: str,
        settings: Settings = LONG,
        neighbours: Mapping[str, str] = NOBODY,
    ) -> None:
        self.neighbours = neighbours
        self.api = api
        self.address = address
        self.namespace = namespace
        self.settings = settings
        self.name = f"etcd-operator-{namespace}"
        self.balancer = Balancer(address)
        self.replicas: list[Replica] = []
        self.manifests: list[dict[str, Any]] = []

    async def start(self, *, replicas: int) -> None:
        await self.balancer.start()
        self.manifests = configurations(name=self.name, namespace=self.namespace, url=self.balancer.url)
        await self.apply_configurations()
        await asyncio.gather(*(self.add_replica() for _ in range(replicas)))

    async def apply_configurations(self) -> None:
        for manifest in self.manifests:
            resource = RESOURCES[manifest["kind"]]
            await self.api.apply(resource, manifest, field_manager="installer")

    async def add_replica(self) -> Replica:
        replica = Replica(
            self.api,
            address=self.address,
            namespace=self.namespace,
            configuration=self.name,
            settings=self.settings,
            neighbours=self.neighbours,
        )
        self.replicas.append(replica)
        await replica.start()
        await replica.ready()
        self.balancer.endpoints.append(replica)
        return replica

    async def remove_replica(self, replica: Replica, *, drain: float = 0.0) -> None:
        """As a Pod goes: out of the Service, answering on for `drain` seconds, then stopped."""
        self.balancer.endpoints.remove(replica)
        replica.server.drain()
        await asyncio.sleep(drain)
        await replica.stop()
        self.replicas.remove(replica)

    async def bundles(self) -> set[bytes]:
        """The different bundles in the two configurations."""
        found = set()
        for manifest in self.manifests:
            live = await self.api.get(RESOURCES[manifest["kind"]], None, self.name)
            found |= {base64.b64decode(hook.client_config.get("caBundle") or "") for hook in live.webhooks}
        return found

    async def stop(self) -> None:
        for manifest in self.manifests:
            with suppress(NotFound):
                await self.api.delete(RESOURCES[manifest["kind"]], None, self.name)
        await asyncio.gather(*(replica.stop() for replica in self.replicas))
        await self.balancer.stop()


def etcd_cluster(name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
