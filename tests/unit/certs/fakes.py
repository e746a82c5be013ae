"""Kubernetes as the certificates see it, in memory: the same compare-and-swap, the same errors."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from app.kube.errors import AlreadyExists, Conflict, KubeError
from certs.access import KINDS, Configuration, Kind, StoredSecret
from certs.rotation import Settings

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings(
    ca_lifetime=timedelta(days=365), leaf_lifetime=timedelta(days=7), soak=timedelta(minutes=1)
)
NAMES = ("hook", "hook.ns", "hook.ns.svc", "hook.ns.svc.cluster.local")


@dataclass
class FakeCluster:
    """One Secret and two configurations, shared by the `FakeAccess` of each replica."""

    stored: StoredSecret | None = None
    found: dict[Kind, Configuration] = field(default_factory=dict)
    listeners: list[Callable[[], None]] = field(default_factory=list)
    failure: KubeError | None = None
    writes: list[str] = field(default_factory=list)
    bundles: list[bytes] = field(default_factory=list)
    _version: int = 0

    def version(self) -> str:
        self._version += 1
        return str(self._version)

    def changed(self) -> None:
        for listener in self.listeners:
            listener()

    def install(self, bundle: bytes = b"") -> None:
        """Apply the manifests, or reset their bundles."""
        for kind in KINDS:
            self.found[kind] = Configuration(kind, self.version(), {"w": bundle})
        self.changed()

    def put_secret(self, data: Mapping[str, bytes | None]) -> None:
        self.stored = StoredSecret(
            self.version(), {key: value for key, value in data.items() if value is not None}
        )
        self.changed()

    def delete_secret(self) -> None:
        self.stored = None
        self.changed()

    @property
    def bundle(self) -> bytes:
        """The one bundle that all webhooks have."""
        (bundle,) = {bundle for found in self.found.values() for bundle in found.bundles.values()}
        return bundle


class FakeAccess:
    """One replica's way to the cluster; each call gives the others a turn first."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster

    async def _turn(self) -> None:
        await asyncio.sleep(0)
        if self.cluster.failure is not None:
            raise self.cluster.failure

    async def secret(self) -> StoredSecret | None:
        await self._turn()
        return self.cluster.stored

    async def create_secret(self, data: Mapping[str, bytes | None]) -> None:
        await self._turn()
        if self.cluster.stored is not None:
            raise AlreadyExists("the Secret exists")
        self.cluster.writes.append("create")
        self.cluster.put_secret(data)

    async def update_secret(self, data: Mapping[str, bytes | None], *, version: str) -> None:
        await self._turn()
        if self.cluster.stored is None or self.cluster.stored.version != version:
            raise Conflict("the Secret has changed")
        self.cluster.writes.append("update")
        self.cluster.put_secret({**self.cluster.stored.data, **data})

    async def configurations(self) -> tuple[Configuration, ...]:
        await self._turn()
        return tuple(self.cluster.found.values())

    async def apply_bundle(self, configuration: Configuration, bundle: bytes) -> None:
        await self._turn()
        live = self.cluster.found.get(configuration.kind)
        if live is None or live.version != configuration.version:
            raise Conflict("the configuration has changed")
        self.cluster.writes.append(configuration.kind)
        self.cluster.bundles.append(bundle)
        self.cluster.found[configuration.kind] = replace(
            live, version=self.cluster.version(), bundles=dict.fromkeys(live.bundles, bundle)
        )
        self.cluster.changed()

    async def follow(self, changed: Callable[[], None]) -> None:
        self.cluster.listeners.append(changed)
        try:
            await asyncio.Event().wait()
        finally:
            self.cluster.listeners.remove(changed)
