"""Objects decode from what a server sends, and take little room."""

import json
import tracemalloc

import pytest

from app.kube.api import decode
from app.kube.errors import Conflict, Expired, KubeError, ServerError, TooManyRequests, Undecodable, error_of
from app.kube.objects import Lease, Pod, Secret
from app.kube.resources import LEASES, NODES, PODS

POD = {
    "metadata": {
        "name": "example-abcdefghij",
        "namespace": "default",
        "uid": "6f1b5d3e-0000-4000-8000-000000000000",
        "resourceVersion": "12345",
        "labels": {"app": "etcd", "etcd_cluster": "example", "etcd_node": "example-abcdefghij"},
        "annotations": {"etcd.version": "3.6.16"},
        "ownerReferences": [
            {
                "apiVersion": "etcd.database.coreos.com/v1beta2",
                "kind": "EtcdCluster",
                "name": "example",
                "uid": "u",
                "controller": True,
            }
        ],
        "managedFields": [{"manager": "etcd-operator", "fieldsV1": {"f:metadata": {"f:labels": {}}}}] * 5,
    },
    "spec": {
        "nodeName": "node-1",
        "containers": [{"name": "etcd", "image": "quay.io/coreos/etcd:v3.6.16", "env": [{"name": "A"}] * 20}],
        "volumes": [{"name": "etcd-data", "emptyDir": {}}],
        "tolerations": [{"key": "a"}] * 5,
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
        "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}],
        "containerStatuses": [
            {
                "name": "etcd",
                "image": "i",
                "imageID": "i@sha256:0",
                "ready": True,
                "restartCount": 2,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            }
        ],
    },
}


def test_a_pod() -> None:
    pod = decode(Pod, json.dumps(POD).encode())
    assert pod.metadata.key == "default/example-abcdefghij"
    assert pod.metadata.controller is not None
    assert pod.metadata.controller.uid == "u"
    assert pod.status.pod_ip == "10.0.0.1"
    container = pod.status.container_statuses[0]
    assert container.last_state.terminated is not None
    assert (container.restart_count, container.last_state.terminated.exit_code) == (2, 137)
    ready = pod.status.condition("Ready")
    assert ready is not None
    assert ready.status == "True"


def test_absent_blocks_are_empty() -> None:
    assert decode(Pod, b"{}").status.container_statuses == ()
    assert decode(Secret, b'{"data":null}').data is None
    lease = decode(Lease, b'{"spec":{"holderIdentity":null}}')
    assert lease.spec.holder_identity is None


def test_what_does_not_fit_is_told() -> None:
    with pytest.raises(Undecodable, match="Pod"):
        decode(Pod, b'{"spec":[]}')


def test_P24_a_cached_pod_takes_little_room() -> None:
    data = json.dumps(POD).encode()
    decode(Pod, data)
    tracemalloc.start()
    kept = [decode(Pod, data) for _ in range(200)]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / len(kept) < 3500


def test_paths() -> None:
    assert PODS.path("ns", "x", "eviction") == "/api/v1/namespaces/ns/pods/x/eviction"
    assert PODS.path() == "/api/v1/pods"
    assert LEASES.path("ns") == "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
    assert NODES.path("ns", "n/../x") == "/api/v1/nodes/n%2F..%2Fx"
    with pytest.raises(ValueError, match="needs a namespace"):
        PODS.path(None, "x")


@pytest.mark.parametrize(
    ("code", "body", "kind"),
    [
        (409, {"reason": "Conflict"}, Conflict),
        (410, {"reason": "Gone"}, Expired),
        (504, {"reason": "Timeout", "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}, Expired),
        (504, {"reason": "Timeout"}, ServerError),
        (429, {"reason": "TooManyRequests", "details": {"retryAfterSeconds": 3}}, TooManyRequests),
    ],
)
def test_errors_are_told_by_code_and_reason(
    code: int, body: dict[str, object], kind: type[KubeError]
) -> None:
    error = error_of(code, json.dumps(body).encode(), doing="GET /x")
    assert type(error) is kind
    assert error.code == code
    assert str(error).startswith("GET /x: ")
    assert error.retry_after == (3 if code == 429 else 0)
