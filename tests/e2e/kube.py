"""What the tests ask of the API server, by kubectl as a person would, or by one GET where they poll."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import yaml

from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.cluster.waiting import wait_until

T = TypeVar("T")

Object = dict[str, Any]
GROUP = "etcd.database.coreos.com"
API_VERSION = f"{GROUP}/v1beta2"
RESOURCE = f"etcdclusters.{GROUP}"

_PATHS = {
    "pods": "/api/v1",
    "persistentvolumeclaims": "/api/v1",
    "services": "/api/v1",
    "secrets": "/api/v1",
    "etcdclusters": f"/apis/{API_VERSION}",
    "leases": "/apis/coordination.k8s.io/v1",
    "events": "/apis/events.k8s.io/v1",
    "deployments": "/apis/apps/v1",
}


def get(cluster: Cluster, resource: str, namespace: str, name: str) -> Object:
    """An object as it is now; raises HarnessError if there is none."""
    found: Object = json.loads(
        cluster.control_plane.get(f"{_PATHS[resource]}/namespaces/{namespace}/{resource}/{name}")
    )
    return found


def listed(cluster: Cluster, resource: str, namespace: str) -> list[Object]:
    """All objects of a kind in a namespace, in the order of their names."""
    found = cluster.control_plane.list(f"{_PATHS[resource]}/namespaces/{namespace}/{resource}")
    return sorted(found, key=lambda one: str(one["metadata"]["name"]))


def apply(
    cluster: Cluster, namespace: str, *objects: Mapping[str, Any], options: tuple[str, ...] = ()
) -> str:
    """`kubectl apply`, on the server's side; what it says."""
    text = yaml.safe_dump_all(objects)
    return cluster.kubectl("apply", "--server-side", "-n", namespace, *options, "-f-", text=text)


def create_namespace(cluster: Cluster, name: str) -> None:
    cluster.kubectl("create", "namespace", name)


def refusal(action: Callable[[], object]) -> str:
    """What the API server says as it refuses; fails if it doesn't."""
    try:
        done = action()
    except HarnessError as error:
        return str(error)
    raise AssertionError(f"This was let through: {done}")


def eventually(condition: Callable[[], T], *, what: str, timeout: float = 60) -> T:
    """Wait until `condition` returns something true without a HarnessError, and return that."""
    return wait_until(condition, timeout=timeout, what=what)
