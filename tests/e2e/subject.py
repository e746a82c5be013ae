"""The cluster under test: an EtcdCluster, its children, and what it says of itself."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.e2e import kube
from tests.e2e.kube import Object, eventually

VERSION = "3.6.16"
CLAIM: Object = {"resources": {"requests": {"storage": "64Mi"}}}
"""What a claim needs at least."""


def manifest(name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    """An EtcdCluster."""
    metadata: Object = {"name": name}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": kube.API_VERSION, "kind": "EtcdCluster", "metadata": metadata, "spec": spec}


@dataclass(frozen=True)
class Subject:
    """An EtcdCluster by its name, whether it exists or not."""

    cluster: Cluster
    namespace: str
    name: str = "example"
    annotations: dict[str, str] = field(default_factory=dict)

    def apply(self, **spec: Any) -> str:
        """Create it, or change it to this; what kubectl says."""
        made = manifest(self.name, annotations=self.annotations, **spec)
        return kube.apply(self.cluster, self.namespace, made)

    def patch(self, **spec: Any) -> str:
        """Change some fields of its spec."""
        return self.kubectl(
            "patch", kube.RESOURCE, self.name, "--type=merge", f"--patch={json.dumps({'spec': spec})}"
        )

    def kubectl(self, *arguments: str, timeout: float = 120) -> str:
        """Run kubectl in its namespace."""
        return self.cluster.kubectl("-n", self.namespace, *arguments, timeout=timeout)

    def wait(self, condition: str = "Available", value: str = "True", *, timeout: int = 60) -> None:
        """Wait for a condition, as a person does."""
        wanted = f"--for=condition={condition}={value}"
        try:
            self.kubectl("wait", kube.RESOURCE, self.name, wanted, f"--timeout={timeout}s")
        except HarnessError as error:
            raise HarnessError(f"{error}\n{self.explained()}") from error

    def explained(self) -> str:
        """What a person would look at if it isn't as it should be."""
        looks = (("get", "pods,pvc,services,etcdclusters", "-o", "wide"), ("describe", "etcdclusters"))
        return "\n".join(self.kubectl(*look) for look in looks)

    def get(self) -> Object:
        return kube.get(self.cluster, "etcdclusters", self.namespace, self.name)

    @property
    def status(self) -> Object:
        found: Object = self.get().get("status") or {}
        return found

    def condition(self, kind: str) -> Object:
        """A condition by its type; HarnessError if the operator has not written it yet."""
        for condition in self.status.get("conditions", []):
            if condition["type"] == kind:
                found: Object = condition
                return found
        raise HarnessError(f"There is no condition {kind} yet")

    def ready(self) -> bool:
        """Whether its whole spec is fulfilled, and says so of the spec as it is now."""
        return self.says("Ready")

    def says(self, kind: str) -> bool:
        """Whether a condition is True, and says so of the spec as it is now."""
        found = self.get()
        generation = found["metadata"]["generation"]
        return any(
            condition["type"] == kind
            and condition["status"] == "True"
            and condition["observedGeneration"] == generation
            for condition in found.get("status", {}).get("conditions", [])
        )

    def wait_ready(self, *, timeout: float = 60) -> None:
        eventually(self.ready, what=f"{self.name} to be Ready", timeout=timeout)

    def children(self, resource: str) -> list[Object]:
        """Its Pods, claims or Services, by the label."""
        return [
            child
            for child in kube.listed(self.cluster, resource, self.namespace)
            if child["metadata"].get("labels", {}).get("etcd_cluster") == self.name
        ]

    def pods(self) -> dict[str, Object]:
        """Its Pods by name."""
        return {pod["metadata"]["name"]: pod for pod in self.children("pods")}

    def pod(self, name: str) -> Object:
        return kube.get(self.cluster, "pods", self.namespace, name)

    def uids(self, resource: str = "pods") -> dict[str, str]:
        """The uid of each child of a kind by its name."""
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in self.children(resource)}

    def ids(self) -> dict[str, str]:
        """The id in etcd of each member by its name, as the status has it."""
        return {member["name"]: member["id"] for member in self.status["memberStatus"]}

    @property
    def url(self) -> str:
        """Where its clients go, from any namespace."""
        return f"http://{self.name}-client.{self.namespace}:2379"

    def member_url(self, member: str) -> str:
        """One member's client URL."""
        return f"http://{member}.{self.name}.{self.namespace}.svc:2379"

    def delete(self, *, cascade: str = "background", wait: bool = True) -> None:
        self.kubectl(
            "delete", kube.RESOURCE, self.name, f"--cascade={cascade}", f"--wait={str(wait).lower()}"
        )

    def remains(self) -> list[str]:
        """What there still is of it, as kind and name."""
        kinds = ("pods", "persistentvolumeclaims", "services")
        return [f"{kind}/{child['metadata']['name']}" for kind in kinds for child in self.children(kind)]
