"""Where the webhook's certificate comes from, as one interface; which one is a setting."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ssl import SSLContext
from typing import Protocol

from app.config import Config, WebhookMode
from app.errors import OperatorError
from app.kube.api import Api
from app.ops.metrics import Metrics
from certs.access import KubeAccess
from certs.authority import service_names
from certs.external import ExternalCertificates
from certs.managed import ManagedCertificates
from certs.rotation import Settings


class Certificates(Protocol):
    """A certificate that is served and kept up to date."""

    @property
    def loaded(self) -> asyncio.Event:
        """Set once there is a certificate to serve."""

    @property
    def ssl_context(self) -> SSLContext:
        """The context to serve with, for the life of the process."""

    async def run(self) -> None:
        """Keep it up to date; does not return. To be supervised, in every replica."""

    async def check(self) -> str | None:
        """Why the API server can't call the webhooks, for ``/readyz``; None if it can."""


def utc_now() -> datetime:
    """The time, as certificates have it."""
    return datetime.now(UTC)


def certificates(
    api: Api, config: Config, *, metrics: Metrics, clock: Callable[[], datetime] = utc_now
) -> Certificates:
    """The certificates for `config`; raises ``OperatorError`` where webhooks are off."""
    webhook = config.webhook
    names = service_names(service=webhook.service, namespace=config.namespace, domain=config.cluster_domain)
    name = f"{webhook.service}.{config.namespace}.svc"
    match webhook.mode:
        case WebhookMode.EXTERNAL if webhook.cert_dir is not None:
            return ExternalCertificates(webhook.cert_dir, name=name, port=webhook.port, metrics=metrics)
        case WebhookMode.MANAGED:
            return ManagedCertificates(
                KubeAccess(
                    api,
                    namespace=config.namespace,
                    secret=webhook.ca_secret,
                    configuration=webhook.configuration,
                    service=webhook.service,
                    metrics=metrics,
                ),
                names=names,
                name=name,
                port=webhook.port,
                settings=Settings(
                    ca_lifetime=timedelta(seconds=webhook.ca_lifetime),
                    leaf_lifetime=timedelta(seconds=webhook.leaf_lifetime),
                    soak=timedelta(seconds=webhook.rotation_soak),
                ),
                metrics=metrics,
                clock=clock,
            )
        case _:
            raise OperatorError(f"--webhook={webhook.mode} has no certificates")
