"""A client of etcd clusters that is a Pod of its own: etcdctl in etcd's image, which has no shell."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.images import etcd_reference
from tests.cluster.workloads import Object, apply, wait_ready

NAME = "etcd-client"


def pod(version: str) -> Object:
    """A Pod to run etcdctl in. It runs an etcd that nobody uses, since something must run."""
    container: Object = {
        "name": "etcd",
        "image": etcd_reference(version),
        "command": ["/usr/local/bin/etcd", "--data-dir=/tmp/data"],
        "volumeMounts": [{"name": "data", "mountPath": "/tmp"}],
    }
    spec: Object = {
        "containers": [container],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "terminationGracePeriodSeconds": 0,
        "enableServiceLinks": False,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME}, "spec": spec}


@dataclass(frozen=True)
class EtcdClient:
    """The client in a namespace where `pod` is applied and ready."""

    cluster: Cluster
    namespace: str

    def ctl(self, url: str, *arguments: str) -> str:
        """Run etcdctl; what it prints. Raises HarnessError when it fails."""
        inside = ("exec", "-n", self.namespace, NAME, "--")
        return self.cluster.kubectl(*inside, "etcdctl", f"--endpoints={url}", *arguments)

    def put(self, url: str, key: str, value: str) -> None:
        """Write a key; returns once the write is acknowledged."""
        assert self.ctl(url, "put", key, value) == "OK\n"

    def get(self, url: str, key: str) -> str:
        """Read a key, through a quorum; empty if there is none."""
        return self.ctl(url, "get", key, "--print-value-only").removesuffix("\n")

    def member_ids(self, url: str) -> dict[str, str]:
        """The members that etcd lists: their ids by their names."""
        found: dict[str, Any] = json.loads(self.ctl(url, "member", "list", "--write-out=json"))
        return {member["name"]: f"{member['ID']:x}" for member in found["members"]}


@contextmanager
def etcd_client(cluster: Cluster, namespace: str, version: str) -> Iterator[EtcdClient]:
    """A client in a namespace that exists; its Pod ends with it."""
    apply(cluster, namespace, pod(version))
    wait_ready(cluster, namespace, NAME)
    try:
        yield EtcdClient(cluster, namespace)
    finally:
        cluster.kubectl("delete", "pod", "-n", namespace, NAME, "--wait=false")
