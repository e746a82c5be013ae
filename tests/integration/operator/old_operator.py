"""Objects as the operators of old left them, made by hand: coreos/etcd-operator v0.9.4 and its live fork.

From their sources (``pkg/util/k8sutil``): names, labels, annotations, owner, command lines, probes, Services.
"""

from dataclasses import dataclass, field
from typing import Any

from app.api.base import API_VERSION


@dataclass(frozen=True, slots=True)
class OldCluster:
    """A cluster of theirs. ``fork`` says whose: the fork restarts containers and is tight on privileges."""

    name: str
    namespace: str
    uid: str
    version: str
    fork: bool = False
    persistent: bool = False
    domain: str = ""
    repository: str = "quay.io/coreos/etcd"
    labels: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", {"app": "etcd", "etcd_cluster": self.name})

    def host(self, member: str) -> str:
        """A member's name in DNS."""
        return f"{member}.{self.name}.{self.namespace}.svc{self.domain}"

    def peer_url(self, member: str) -> str:
        """The URL that members know each other by."""
        return f"http://{self.host(member)}:2380"

    def owner(self) -> list[dict[str, Any]]:
        """What makes an object the custom resource's."""
        reference = {"apiVersion": API_VERSION, "kind": "EtcdCluster", "name": self.name, "uid": self.uid}
        return [{**reference, "controller": True}]

    def services(self) -> list[dict[str, Any]]:
        """Both Services; the annotation is the one that Kubernetes forgot."""
        client = {"name": "client", "port": 2379, "targetPort": 2379, "protocol": "TCP"}
        peer = {"name": "peer", "port": 2380, "targetPort": 2380, "protocol": "TCP"}
        unready = {"service.alpha.kubernetes.io/tolerate-unready-endpoints": "true"}

        def service(name: str, **spec: Any) -> dict[str, Any]:
            return {
                "metadata": {
                    "name": name,
                    "labels": self.labels,
                    "annotations": unready,
                    "ownerReferences": self.owner(),
                },
                "spec": {"selector": self.labels, **spec},
            }

        return [
            service(self.name, clusterIP="None", ports=[client, peer], publishNotReadyAddresses=self.fork),
            service(f"{self.name}-client", ports=[client]),
        ]

    def claim(self, member: str) -> dict[str, Any]:
        """A member's claim."""
        return {
            "metadata": {"name": member, "labels": self.labels, "ownerReferences": self.owner()},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }

    def pod(self, member: str, others: list[str], *, token: str = "") -> dict[str, Any]:
        """A member's Pod; the first one founds the cluster under a token, the others join it."""
        founds = bool(token)
        initial = ",".join(f"{one}={self.peer_url(one)}" for one in [*others, member])
        command = [
            "/usr/local/bin/etcd",
            "--data-dir=/var/etcd/data",
            f"--name={member}",
            f"--initial-advertise-peer-urls={self.peer_url(member)}",
            "--listen-peer-urls=http://0.0.0.0:2380",
            "--listen-client-urls=http://0.0.0.0:2379",
            f"--advertise-client-urls=http://{self.host(member)}:2379",
            f"--initial-cluster={initial}",
            f"--initial-cluster-state={'new' if founds else 'existing'}",
            *([f"--initial-cluster-token={token}"] if founds else []),
        ]
        shell: dict[str, Any] = {
            "exec": {"command": ["/bin/sh", "-ec", "ETCDCTL_API=3 etcdctl endpoint status"]}
        }
        probe: dict[str, Any] = {"grpc": {"port": 2379}} if self.fork else shell
        data: dict[str, Any] = (
            {"persistentVolumeClaim": {"claimName": member}} if self.persistent else {"emptyDir": {}}
        )
        container = {
            "name": "etcd",
            "image": f"{self.repository}:v{self.version}",
            "command": command,
            "ports": [
                {"name": "server", "containerPort": 2380, "protocol": "TCP"},
                {"name": "client", "containerPort": 2379, "protocol": "TCP"},
            ],
            "volumeMounts": [{"name": "etcd-data", "mountPath": "/var/etcd"}],
            "livenessProbe": probe,
            "readinessProbe": probe | {"periodSeconds": 5},
            **({"securityContext": _TIGHT} if self.fork else {}),
        }
        wait = f"TIMEOUT_READY=0\nwhile ( ! nslookup {self.host(member)} )\ndo sleep 1\ndone"
        init = {"name": "check-dns", "image": "busybox:1.28.0-glibc", "command": ["/bin/sh", "-c", wait]}
        return {
            "metadata": {
                "name": member,
                "labels": {**self.labels, "etcd_node": member},
                "annotations": {"etcd.version": self.version},
                "ownerReferences": self.owner(),
            },
            "spec": {
                "restartPolicy": "Always" if self.fork and self.persistent else "Never",
                "automountServiceAccountToken": False,
                "hostname": member,
                "subdomain": self.name,
                "initContainers": [init],
                "containers": [container],
                "volumes": [{"name": "etcd-data", **data}],
            },
        }


_TIGHT = {
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def lock(renewed: str, *, seconds: int = 15) -> dict[str, Any]:
    """The Endpoints object by which replicas of the old operator elected one."""
    record = (
        f'{{"holderIdentity":"etcd-operator-7d8f","leaseDurationSeconds":{seconds},"acquireTime":"{renewed}",'
        f'"renewTime":"{renewed}","leaderTransitions":0}}'
    )
    annotations = {"control-plane.alpha.kubernetes.io/leader": record}
    return {"metadata": {"name": "etcd-operator", "annotations": annotations}}
