"""Operators under test: installed from `manifests/` as a user would, and taken away again."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import audit, binaries, faults
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.e2e import kube
from tests.e2e.kube import Object, eventually

MANIFESTS = Path(__file__).parents[2] / "manifests"
LEASE = "etcd-operator.database.coreos.com"
NAME = "etcd-operator"
SELECTOR = f"name={NAME}"
CRDS = tuple(f"{plural}.{kube.GROUP}" for plural in ("etcdclusters", "etcdbackups", "etcdrestores"))


@dataclass(frozen=True)
class Installation:
    """An operator in a namespace."""

    cluster: Cluster
    namespace: str
    account: str = NAME
    since: str = ""
    """When it was installed, as RFC 3339 in UTC."""

    def requests(self) -> list[audit.Event]:
        """What it has asked of the API server so far."""
        asked = self.cluster.audit(audit.service_account(self.namespace, self.account))
        return [event for event in asked if event.request_received_timestamp >= self.since]

    def refused(self) -> set[tuple[str, str]]:
        """The verbs and paths of requests that it had no right to.

        Kubernetes also answers 403 to whoever creates something in a namespace that has just begun to go.
        """
        return {
            (event.verb, event.request_uri.partition("?")[0])
            for event in self.requests()
            if event.forbidden
            or (
                event.code == HTTPStatus.FORBIDDEN
                and "is being terminated" not in event.response_status.message
            )
        }

    def kubectl(self, *arguments: str, timeout: float = 120) -> str:
        return self.cluster.kubectl("-n", self.namespace, *arguments, timeout=timeout)

    def wait_rolled_out(self, *, timeout: int = 90) -> None:
        try:
            self.kubectl("rollout", "status", f"deployment/{NAME}", f"--timeout={timeout}s")
        except HarnessError as error:
            raise HarnessError(f"{error}\n{self.explained()}") from error

    def explained(self) -> str:
        """What its replicas did and said."""
        return self.kubectl("get", "pods") + self.kubectl("logs", f"--selector={SELECTOR}", "--tail=30")

    def pods(self) -> list[Object]:
        """Its replicas."""
        return [
            pod
            for pod in kube.listed(self.cluster, "pods", self.namespace)
            if pod["metadata"].get("labels", {}).get("name") == NAME
        ]

    def lease(self) -> Object:
        spec: Object = kube.get(self.cluster, "leases", self.namespace, LEASE)["spec"]
        return spec

    def leader(self) -> str:
        """The name of the Pod that leads; empty for none."""
        return str(self.lease().get("holderIdentity") or "").partition("_")[0]

    def wait_leader(self, *, other_than: str = "", timeout: float = 30) -> str:
        """Wait until one of its Pods leads; its name."""

        def led() -> str:
            leader = self.leader()
            return leader if leader != other_than else ""

        return eventually(led, what="a leader", timeout=timeout)


def kill_leader(operator: Installation) -> None:
    """SIGKILL the process of the Pod that holds the Lease; wait for it if it is just being started again."""

    def killed() -> bool:
        faults.kill_container(operator.cluster, operator.namespace, operator.wait_leader())
        return True

    eventually(killed, what="a leader to kill")


def kustomized(folder: Path) -> list[Object]:
    """The objects of an overlay."""
    done = subprocess.run(
        [kubectl_program(), "kustomize", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise HarnessError(f"{folder}: {done.stderr}")
    return list(yaml.safe_load_all(done.stdout))


def kubectl_program() -> Path:
    return binaries.find("kubectl")["kubectl"]


def overlay_for(overlay: str, namespace: str, folder: Path) -> Path:
    """A user's copy of `manifests/` in `folder`, with the namespace of an overlay set as it tells to."""
    copy = folder / "manifests"
    shutil.copytree(MANIFESTS, copy)
    path = copy / overlay / "kustomization.yaml"
    text = path.read_text()
    assert "\nnamespace: default\n" in text
    path.write_text(text.replace("\nnamespace: default\n", f"\nnamespace: {namespace}\n"))
    return copy / overlay


@dataclass(frozen=True)
class Plan:
    """What an operator is to be made of, and where."""

    objects: list[Object]
    namespace: str
    account: str = NAME

    @property
    def text(self) -> str:
        return yaml.safe_dump_all(self.objects)


@contextmanager
def installed(cluster: Cluster, *plans: Plan, leave: bool = False) -> Iterator[tuple[Installation, ...]]:
    """Operators that are rolled out, installed at the same time.

    All of their objects are gone afterwards, unless they are to be left.
    """
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    operators = tuple(Installation(cluster, plan.namespace, plan.account, since) for plan in plans)
    try:
        for plan in plans:
            cluster.kubectl("apply", "--server-side", "--warnings-as-errors", "-f-", text=plan.text)
        for operator in operators:
            operator.wait_rolled_out()
        yield operators
    finally:
        if not leave:
            _uninstall(cluster, plans, operators)


def _uninstall(cluster: Cluster, plans: tuple[Plan, ...], operators: tuple[Installation, ...]) -> None:
    # First what uses the rights, then the rights: its last requests are to be none that is refused.
    gone = ("delete", "deployment", NAME, "--cascade=foreground", "--ignore-not-found")
    for wait in ("false", "true"):
        for operator in operators:
            operator.kubectl(*gone, f"--wait={wait}")
    text = "---\n".join(plan.text for plan in plans)
    cluster.kubectl("delete", "--ignore-not-found", "-f-", text=text)


def delete_crds(cluster: Cluster) -> None:
    """Delete the CustomResourceDefinitions, which no manifest of an operator's has: it makes them itself."""
    cluster.kubectl("delete", "crd", "--ignore-not-found", *CRDS)


def crd(cluster: Cluster, name: str) -> Object:
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    found: Object = json.loads(cluster.control_plane.get(path))
    return found


def rules(objects: list[Object], *kinds: str) -> list[dict[str, Any]]:
    """The rules of all roles of these kinds."""
    return [rule for one in objects if one["kind"] in kinds for rule in one["rules"]]
