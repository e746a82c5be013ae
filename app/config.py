"""The operator's settings: one frozen value, made once from flags and environment, passed to who needs it.

The flags of the operator that this one succeeds (``-cluster-wide``, ``-create-crd=false``, ``-listen-addr``)
keep their names, meanings and Go's spelling: one dash or two, ``-flag`` or ``-flag=false``, durations such as
``10m`` or ``1h30m``. Those that no longer mean anything are accepted with a warning, so that an old
Deployment starts.
"""

import argparse
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, NoReturn

from app.errors import OperatorError

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_OBSOLETE = {
    "chaos-level": "it killed Pods for tests",
    "gc-interval": "children are collected by owner references",
}


class ConfigError(OperatorError):
    """A flag or a variable that can't be used; the text names it and what would do."""


class WebhookMode(StrEnum):
    """Where the webhook's certificate comes from."""

    MANAGED = "managed"
    EXTERNAL = "external"
    OFF = "off"


class Scope(StrEnum):
    """Which clusters this operator reconciles.

    ``NAMESPACED``: those of its own namespace that are not annotated as cluster-wide. ``CLUSTER_WIDE``: those
    of any namespace annotated ``etcd.database.coreos.com/scope: clusterwide``. ``ALL``: every one everywhere.
    """

    NAMESPACED = "namespaced"
    CLUSTER_WIDE = "cluster-wide"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class WebhookConfig:
    """The admission server and its certificates; times are in seconds."""

    mode: WebhookMode
    port: int
    service: str
    configuration: str
    cert_dir: Path | None
    ca_secret: str
    ca_lifetime: float
    leaf_lifetime: float
    rotation_soak: float


@dataclass(frozen=True, slots=True)
class LeaseConfig:
    """Leader election; times are in seconds."""

    name: str
    duration: float
    renew_deadline: float
    retry_period: float


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of one operator process; times are in seconds."""

    namespace: str
    pod_name: str
    scope: Scope
    create_crd: bool
    listen_host: str
    listen_port: int
    webhook: WebhookConfig
    lease: LeaseConfig
    cluster_domain: str
    workers: int
    log_format: Literal["text", "json"]
    log_level: str
    default_run_as_user: int | None
    operator_image: str
    kubeconfig: Path | None
    drain_seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def watched_namespace(self) -> str | None:
        """The one namespace whose objects are watched, or None for all."""
        return self.namespace if self.scope is Scope.NAMESPACED else None


def parse_duration(text: str) -> float:
    """Read a duration as Go writes it (``90s``, ``1h30m``, ``500ms``); returns seconds."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 15s, 10m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _boolean(text: str) -> bool:
    if text.lower() in {"1", "t", "true"}:
        return True
    if text.lower() in {"0", "f", "false"}:
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if ":" not in text or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not host:port, such as 0.0.0.0:8080")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - the Pod's own address, as it was


def _user(text: str) -> int | None:
    if not text:
        return None
    if not text.isdigit():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a numeric user id (empty leaves the choice to the platform)"
        )
    return int(text)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


_BOOLEANS = frozenset({"cluster-wide", "all", "create-crd", "version"})


def parser() -> argparse.ArgumentParser:
    """The flags of ``etcd-operator run``."""
    flags = _Parser(prog="etcd-operator", description="Runs etcd clusters on Kubernetes.", allow_abbrev=False)
    add = flags.add_argument
    add(
        "--cluster-wide",
        default=False,
        help="take the clusters annotated as cluster-wide, in any namespace",
        type=_boolean,
    )
    add("--all", default=False, help="take every cluster in every namespace, annotated or not", type=_boolean)
    add("--create-crd", default=True, help="create the CRDs, or update older ones", type=_boolean)
    add("--listen-addr", type=_address, default=("0.0.0.0", 8080), help="health and metrics, host:port")  # noqa: S104
    add("--webhook", type=WebhookMode, choices=list(WebhookMode), default=WebhookMode.MANAGED)
    add("--webhook-port", type=int, default=9443)
    add("--webhook-service", default="etcd-operator-webhook")
    add(
        "--webhook-configuration",
        default="",
        help="name of both configurations; default etcd-operator-<namespace>",
    )
    add("--webhook-cert-dir", type=Path, help="tls.crt, tls.key, ca.crt for --webhook=external")
    add("--webhook-ca-secret", default="etcd-operator-webhook-ca")
    add("--webhook-ca-lifetime", type=parse_duration, default=365 * 86400.0)
    add("--webhook-leaf-lifetime", type=parse_duration, default=7 * 86400.0)
    add("--webhook-rotation-soak", type=parse_duration, default=60.0)
    add("--cluster-domain", default="cluster.local", help="the DNS domain of the Kubernetes cluster")
    add("--lease-name", default="etcd-operator.database.coreos.com")
    add("--lease-duration", type=parse_duration, default=15.0)
    add("--renew-deadline", type=parse_duration, default=10.0)
    add("--retry-period", type=parse_duration, default=2.0)
    add("--workers", type=int, default=16, help="clusters reconciled at the same time")
    add("--log-format", choices=["text", "json"], default="text")
    add("--log-level", choices=["debug", "info", "warning", "error"], default="info")
    add(
        "--default-run-as-user",
        type=_user,
        default=1000,
        help="user id of members; empty leaves it to the platform",
    )
    add(
        "--operator-image",
        default="",
        help="what a recovery reads and commits logs with; default: the own Pod's image",
    )
    add("--kubeconfig", type=Path, help="use this file instead of the Pod's service account")
    add(
        "--drain-seconds",
        type=parse_duration,
        default=5.0,
        help="how long webhooks are answered after SIGTERM",
    )
    for name, why in _OBSOLETE.items():
        add(f"--{name}", help=f"accepted and ignored: {why}")
    return flags


def _spelling(argument: str) -> str:
    """Turn Go's spelling of a flag into argparse's."""
    if not argument.startswith("-") or len(argument) < 3:
        return argument
    name, equals, value = argument.lstrip("-").partition("=")
    if name in _BOOLEANS and not equals:
        return f"--{name}=true"
    return f"--{name}{equals}{value}"


def load(arguments: Sequence[str], environment: Mapping[str, str]) -> Config:
    """Make the settings from command-line arguments and environment; raises `ConfigError`."""
    given = parser().parse_args([_spelling(argument) for argument in arguments])
    namespace = environment.get("MY_POD_NAMESPACE", "")
    if not namespace:
        raise ConfigError("MY_POD_NAMESPACE is not set; the Deployment sets it from metadata.namespace")
    if not given.retry_period < given.renew_deadline < given.lease_duration:
        raise ConfigError("--retry-period must be below --renew-deadline, and that below --lease-duration")
    if given.webhook is WebhookMode.EXTERNAL and given.webhook_cert_dir is None:
        raise ConfigError("--webhook=external needs --webhook-cert-dir")
    if given.workers < 1:
        raise ConfigError("--workers must be at least 1")
    host, port = given.listen_addr
    scope = Scope.ALL if given.all else Scope.CLUSTER_WIDE if given.cluster_wide else Scope.NAMESPACED
    return Config(
        namespace=namespace,
        pod_name=environment.get("MY_POD_NAME") or socket.gethostname(),
        scope=scope,
        create_crd=given.create_crd,
        listen_host=host,
        listen_port=port,
        webhook=WebhookConfig(
            mode=given.webhook,
            port=given.webhook_port,
            service=given.webhook_service,
            configuration=given.webhook_configuration or f"etcd-operator-{namespace}",
            cert_dir=given.webhook_cert_dir,
            ca_secret=given.webhook_ca_secret,
            ca_lifetime=given.webhook_ca_lifetime,
            leaf_lifetime=given.webhook_leaf_lifetime,
            rotation_soak=given.webhook_rotation_soak,
        ),
        lease=LeaseConfig(
            name=given.lease_name,
            duration=given.lease_duration,
            renew_deadline=given.renew_deadline,
            retry_period=given.retry_period,
        ),
        cluster_domain=given.cluster_domain,
        workers=given.workers,
        log_format=given.log_format,
        log_level=given.log_level,
        default_run_as_user=given.default_run_as_user,
        operator_image=given.operator_image,
        kubeconfig=given.kubeconfig,
        drain_seconds=given.drain_seconds,
        warnings=tuple(
            f"--{name} is ignored: {why}"
            for name, why in _OBSOLETE.items()
            if getattr(given, name.replace("-", "_")) is not None
        ),
    )
