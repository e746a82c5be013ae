"""What certificates need of Kubernetes: one Secret by compare-and-swap, and the ``caBundle`` of two objects.

Only these objects are ever asked for, by name, so neither the rights nor the memory grow with what else is in
the cluster. Of the configurations one field is owned, by server-side apply under a field manager of its own;
everything else in them is their author's.
"""

import asyncio
import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from app.kube.api import Api
from app.kube.errors import NotFound
from app.kube.informer import Informer
from app.kube.objects import Webhook, WebhookConfiguration
from app.kube.resources import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS, Resource
from app.ops.metrics import Metrics

FIELD_MANAGER: Final = "etcd-operator-webhook-ca"

Kind = Literal["mutating", "validating"]
KINDS: Final[tuple[Kind, ...]] = ("mutating", "validating")

_RESOURCES: Final[Mapping[Kind, Resource[WebhookConfiguration]]] = {
    "mutating": MUTATING_WEBHOOKS,
    "validating": VALIDATING_WEBHOOKS,
}


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The Secret as it was read."""

    version: str
    data: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A webhook configuration as it was read: the bundle of each of its webhooks that calls this operator."""

    kind: Kind
    version: str
    bundles: Mapping[str, bytes]


class Access(Protocol):
    """The calls; each raises ``KubeError``."""

    async def secret(self) -> StoredSecret | None:
        """The Secret as it is now, or None."""

    async def create_secret(self, data: Mapping[str, bytes | None]) -> None:
        """Create it; raises ``AlreadyExists`` if another replica was faster."""

    async def update_secret(self, data: Mapping[str, bytes | None], *, version: str) -> None:
        """Set these keys (None removes one); raises ``Conflict`` unless it is still at `version`."""

    async def configurations(self) -> tuple[Configuration, ...]:
        """Those of the two that exist."""

    async def apply_bundle(self, configuration: Configuration, bundle: bytes) -> None:
        """Set the bundle of its webhooks; raises ``Conflict`` if it has changed since it was read."""

    async def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever one of the three objects may have changed; does not return."""


class KubeAccess:
    """`Access` by the API server."""

    def __init__(
        self,
        api: Api,
        *,
        namespace: str,
        secret: str,
        configuration: str,
        service: str,
        metrics: Metrics,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._secret = secret
        self._configuration = configuration
        self._service = service
        self._metrics = metrics

    async def secret(self) -> StoredSecret | None:
        """The Secret as it is now, or None."""
        try:
            found = await self._api.get(SECRETS, self._namespace, self._secret)
        except NotFound:
            return None
        data = {key: _decoded(value) for key, value in (found.data or {}).items()}
        return StoredSecret(found.metadata.resource_version, data)

    async def create_secret(self, data: Mapping[str, bytes | None]) -> None:
        """Create it; raises ``AlreadyExists`` if another replica was faster."""
        body = {
            "metadata": {"name": self._secret, "labels": {"app.kubernetes.io/managed-by": "etcd-operator"}},
            "type": "Opaque",
            "data": {key: _encoded(value) for key, value in data.items() if value is not None},
        }
        await self._api.create(SECRETS, body, namespace=self._namespace)

    async def update_secret(self, data: Mapping[str, bytes | None], *, version: str) -> None:
        """Set these keys (None removes one); raises ``Conflict`` unless it is still at `version`."""
        patch = {
            "metadata": {"resourceVersion": version},
            "data": {key: None if value is None else _encoded(value) for key, value in data.items()},
        }
        await self._api.patch(SECRETS, self._namespace, self._secret, patch)

    async def configurations(self) -> tuple[Configuration, ...]:
        """Those of the two that exist."""
        found = []
        for kind in KINDS:
            try:
                configuration = await self._api.get(_RESOURCES[kind], None, self._configuration)
            except NotFound:
                continue
            bundles = {
                webhook.name: _decoded(webhook.client_config.get("caBundle"))
                for webhook in configuration.webhooks
                if self._ours(webhook)
            }
            found.append(Configuration(kind, configuration.metadata.resource_version, bundles))
        return tuple(found)

    async def apply_bundle(self, configuration: Configuration, bundle: bytes) -> None:
        """Set the bundle of its webhooks; raises ``Conflict`` if it has changed since it was read."""
        body = {
            "metadata": {"name": self._configuration, "resourceVersion": configuration.version},
            "webhooks": [
                {"name": name, "clientConfig": {"caBundle": _encoded(bundle)}}
                for name in configuration.bundles
            ],
        }
        await self._api.apply(_RESOURCES[configuration.kind], body, field_manager=FIELD_MANAGER)

    async def follow(self, changed: Callable[[], None]) -> None:
        """Call `changed` whenever one of the three objects may have changed; does not return."""

        def handler(_old: object, _new: object) -> None:
            changed()

        async with asyncio.TaskGroup() as group:
            by_name = f"metadata.name={self._secret}"
            secrets = Informer(
                self._api,
                SECRETS,
                namespace=self._namespace,
                field_selector=by_name,
                metrics=self._metrics,
            )
            secrets.subscribe(handler)
            group.create_task(secrets.run(), name="watch of the CA Secret")
            for kind in KINDS:
                informer = Informer(
                    self._api,
                    _RESOURCES[kind],
                    field_selector=f"metadata.name={self._configuration}",
                    metrics=self._metrics,
                )
                informer.subscribe(handler)
                group.create_task(informer.run(), name=f"watch of the {kind} configuration")

    def _ours(self, webhook: Webhook) -> bool:
        """Whether it calls this operator: by its Service, or by a URL, whose host can't be told."""
        service = webhook.client_config.get("service")
        if service is None:
            return True
        return bool(service.get("name") == self._service and service.get("namespace") == self._namespace)


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _decoded(value: Any) -> bytes:
    try:
        return base64.b64decode(value or "")
    except (binascii.Error, ValueError, TypeError):
        return b""
