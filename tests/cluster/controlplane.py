"""The control plane: etcd, API server, controller manager and scheduler, on a machine of their own."""

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.cluster import programs
from tests.cluster.addresses import Addresses
from tests.cluster.errors import HarnessError
from tests.cluster.machine import DISK, Machine
from tests.cluster.pki import Authority, private_key
from tests.cluster.waiting import wait_until

NAME = "control-plane"
AUDIT_LOG = "log/audit.log"

NODE_GRACE_SECONDS = 20
"""After so long without a sign of life a node counts as lost (Kubernetes' default: 50)."""
EVICTION_SECONDS = 20
"""So long Pods stay bound to a lost node, unless they say otherwise (Kubernetes' default: 300)."""

# Who did what, for all but the cluster's own parts, whose requests would drown the rest.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "userGroups": ["system:nodes", "system:serviceaccounts:kube-system"]},
        {
            "level": "None",
            "users": [
                "system:apiserver",
                "system:kube-controller-manager",
                "system:kube-proxy",
                "system:kube-scheduler",
                "coredns",
                "local-path-provisioner",
            ],
        },
        {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*"]},
        {"level": "Metadata"},
    ],
}


class ControlPlane:
    """The programs of the control plane on `machine`; `folder` is where the host keeps its way in."""

    def __init__(
        self, machine: Machine, addresses: Addresses, paths: Mapping[str, Path], folder: Path
    ) -> None:
        self.machine = machine
        self.addresses = addresses
        self._programs = paths
        self._folder = folder

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, with everything in it."""
        return self._folder / "kubeconfig"

    def prepare(self, authority: Authority) -> None:
        """Write certificates and configuration."""
        disk = self.machine.disk
        address = self.addresses.control_plane
        serving = authority.issue(
            "kube-apiserver",
            names=("kubernetes", "kubernetes.default", "kubernetes.default.svc"),
            addresses=(address, self.addresses.api_service),
        )
        admin = authority.issue("admin", group="system:masters")
        kubelet_client = authority.issue("kube-apiserver-kubelet-client", group="system:masters")
        for name, pair in {
            "ca": authority.pair,
            "serving": serving,
            "kubelet": kubelet_client,
            "admin": admin,
        }.items():
            write(disk / "pki" / f"{name}.crt", pair.certificate)
            write(disk / "pki" / f"{name}.key", pair.key)
        write(disk / "pki" / "accounts.key", private_key())
        users = {f"system:kube-{part}": "" for part in ("controller-manager", "scheduler", "proxy")}
        for user, group in (users | dict.fromkeys(programs.ADDONS, "system:masters")).items():
            name = user.removeprefix("system:")
            write(
                disk / f"{name}.kubeconfig",
                authority.kubeconfig(self.addresses.api, authority.issue(user, group=group)),
            )
        write(disk / "audit-policy.yaml", yaml.safe_dump(_AUDIT_POLICY))
        write(self.kubeconfig, authority.kubeconfig(self.addresses.api, admin))

    def start(self) -> None:
        """Start etcd and the API server."""
        self.machine.spawn(
            self._programs["etcd"],
            f"--data-dir={DISK}/etcd",
            "--unsafe-no-fsync",
            "--listen-peer-urls=http://127.0.0.1:2380",
        )
        self.start_api_server()

    def start_api_server(self) -> None:
        pki = f"{DISK}/pki"
        self.machine.spawn(
            self._programs["kube-apiserver"],
            "--etcd-servers=http://127.0.0.1:2379",
            "--secure-port=6443",
            f"--advertise-address={self.addresses.control_plane}",
            f"--tls-cert-file={pki}/serving.crt",
            f"--tls-private-key-file={pki}/serving.key",
            f"--client-ca-file={pki}/ca.crt",
            f"--service-account-key-file={pki}/accounts.key",
            f"--service-account-signing-key-file={pki}/accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-cluster-ip-range={self.addresses.services}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged",
            f"--kubelet-client-certificate={pki}/kubelet.crt",
            f"--kubelet-client-key={pki}/kubelet.key",
            "--kubelet-preferred-address-types=InternalIP",
            f"--audit-policy-file={DISK}/audit-policy.yaml",
            f"--audit-log-path={DISK}/{AUDIT_LOG}",
            f"--default-not-ready-toleration-seconds={EVICTION_SECONDS}",
            f"--default-unreachable-toleration-seconds={EVICTION_SECONDS}",
        )

    def start_controllers(self) -> None:
        """Start the controller manager; it works without nodes too (garbage collection, namespaces, ...)."""
        self.machine.spawn(
            self._programs["kube-controller-manager"],
            f"--kubeconfig={DISK}/kube-controller-manager.kubeconfig",
            f"--service-account-private-key-file={DISK}/pki/accounts.key",
            f"--root-ca-file={DISK}/pki/ca.crt",
            f"--cluster-signing-cert-file={DISK}/pki/ca.crt",
            f"--cluster-signing-key-file={DISK}/pki/ca.key",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--node-monitor-period=2s",
            f"--node-monitor-grace-period={NODE_GRACE_SECONDS}s",
            "--kube-api-qps=100",
            "--kube-api-burst=200",
        )

    def start_scheduler(self) -> None:
        self.machine.spawn(
            self._programs["kube-scheduler"],
            f"--kubeconfig={DISK}/kube-scheduler.kubeconfig",
            "--leader-elect=false",
            "--kube-api-qps=100",
            "--kube-api-burst=200",
        )

    def wait_ready(self, *, timeout: float = 60) -> None:
        """Wait until the API server says that it is ready.

        Raises:
            HarnessError: it isn't within `timeout` seconds, or it or its etcd ended; with what it said last.

        """

        def ready() -> bool:
            for program in ("etcd", "kube-apiserver"):
                self.machine.check(program)
            return self.get("/readyz") == b"ok"

        wait_until(ready, timeout=timeout, what="the API server to become ready")

    def list(self, path: str) -> list[dict[str, Any]]:
        """The items of a list of the API, such as /api/v1/nodes."""
        items: list[dict[str, Any]] = json.loads(self.get(path))["items"]
        return items

    def get(self, path: str) -> bytes:
        """GET from the API server, as the administrator.

        Raises:
            HarnessError: there is no answer, or it isn't 200.

        """
        url = urlsplit(self.addresses.api)
        pki = self.machine.disk / "pki"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        connection = http.client.HTTPSConnection(str(url.hostname), url.port, context=context, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        except OSError as error:
            raise HarnessError(f"The API server doesn't answer: {error}") from error
        finally:
            connection.close()
        if response.status != http.HTTPStatus.OK:
            raise HarnessError(f"GET {path}: {response.status} {body.decode(errors='replace')}")
        return body


def write(path: Path, content: bytes | str) -> None:
    """Write a file that only we may read, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
