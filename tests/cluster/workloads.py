"""Small objects to try a cluster with."""

import json
from typing import Any

from tests.cluster.cluster import Cluster
from tests.cluster.images import BUSYBOX

Object = dict[str, Any]


def apply(cluster: Cluster, namespace: str, *objects: Object) -> None:
    """Create the objects, or change them to what is given."""
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    cluster.kubectl(
        "apply", "--server-side", "--namespace", namespace, "--filename=-", text=json.dumps(items)
    )


def wait_ready(cluster: Cluster, namespace: str, *pods: str, timeout: int = 60) -> None:
    """Wait until these Pods are ready.

    Raises HarnessError if one isn't within `timeout` seconds.
    """
    names = [f"pod/{name}" for name in pods]
    cluster.kubectl("wait", "-n", namespace, *names, "--for=condition=Ready", f"--timeout={timeout}s")


def shell(name: str, script: str = "exec sleep infinity", *, claim: str = "", node: str = "") -> Object:
    """A Pod that runs a shell script, with a volume at /data if it names a claim; it ends when told to."""
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", script]}
    spec: Object = {"containers": [container], "terminationGracePeriodSeconds": 0}
    if claim:
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    if node:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    metadata = {"name": name, "labels": {"app": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def volume_claim(name: str) -> Object:
    """A claim for a volume of the default class."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def service(app: str, *, port: int, target: int) -> Object:
    """A Service for the Pod `app`."""
    spec = {"selector": {"app": app}, "ports": [{"port": port, "targetPort": target}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": app}, "spec": spec}
