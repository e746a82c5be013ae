"""Each fault does what it says, and its undo undoes it."""

import signal
import subprocess
import sys
from ipaddress import IPv4Address

import pytest

from tests.cluster import faults
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.cluster.waiting import wait_until
from tests.cluster.workloads import apply, shell, volume_claim, wait_ready

pytestmark = pytest.mark.e2e

_FETCH = "import sys, urllib.request as r; sys.stdout.buffer.write(r.urlopen(sys.argv[1], timeout=1).read())"


@pytest.fixture
def web(cluster: Cluster, namespace: str) -> str:
    """A Pod `web` with a file in its volume, which it serves."""
    serve = "[ -e /data/index.html ] || echo hello >/data/index.html; exec httpd -f -p 8080 -h /data"
    apply(cluster, namespace, volume_claim("data"), shell("web", serve, claim="data"))
    wait_ready(cluster, namespace, "web")
    return "web"


def _serves(cluster: Cluster, namespace: str) -> bool:
    """Whether the Pod answers the host within a second."""
    address = cluster.pod(namespace, "web").address
    fetched = subprocess.run(
        [sys.executable, "-c", _FETCH, f"http://{address}:8080"], capture_output=True, check=False
    )
    return fetched.stdout == b"hello\n"


def _node_condition(cluster: Cluster, node: str) -> str:
    path = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    return cluster.kubectl("get", "node", node, path)


def _restarts(cluster: Cluster, namespace: str, pod: str) -> int:
    path = "--output=jsonpath={.status.containerStatuses[0].restartCount}"
    return int(cluster.kubectl("get", "pod", pod, "-n", namespace, path))


def test_a_node_without_power_is_lost_and_comes_back_with_its_disk(
    cluster: Cluster, namespace: str, web: str
) -> None:
    node = cluster.pod(namespace, web).node
    with faults.stop_node(cluster, node):
        assert not cluster.machine(node).group.exists()
        wait_until(
            lambda: _node_condition(cluster, node) == "Unknown", timeout=40, what="the loss to be noticed"
        )
    assert _node_condition(cluster, node) == "True"
    wait_until(lambda: _serves(cluster, namespace), timeout=60, what="the Pod to serve what it had written")
    assert _restarts(cluster, namespace, web) == 1


def test_a_node_that_is_cut_off_goes_on_alone(cluster: Cluster, namespace: str, web: str) -> None:
    pod = cluster.pod(namespace, web)
    with faults.cut_node(cluster, pod.node):
        assert not _serves(cluster, namespace)
        assert cluster.container_processes(pod)
        assert cluster.machine(pod.node).find("kubelet")
    wait_until(lambda: _serves(cluster, namespace), timeout=20, what="the Pod to serve again")
    assert _restarts(cluster, namespace, web) == 0


def test_a_pod_is_cut_off_from_all(cluster: Cluster, namespace: str, web: str) -> None:
    neighbour = cluster.pod(namespace, web).node
    apply(cluster, namespace, shell("neighbour", node=neighbour))
    wait_ready(cluster, namespace, "neighbour")
    address = cluster.pod(namespace, web).address
    fetch = (
        "exec",
        "-n",
        namespace,
        "neighbour",
        "--",
        "timeout",
        "1",
        "wget",
        "-q",
        "-O-",
        f"http://{address}:8080",
    )
    assert cluster.kubectl(*fetch) == "hello\n"
    with faults.cut_pod(cluster, namespace, web):
        assert not _serves(cluster, namespace)
        with pytest.raises(HarnessError):
            cluster.kubectl(*fetch)
    assert cluster.kubectl(*fetch) == "hello\n"
    assert _serves(cluster, namespace)


def test_a_pod_is_cut_off_from_one(cluster: Cluster, namespace: str, web: str) -> None:
    with faults.cut_pod(cluster, namespace, web, peer=cluster.addresses.host):
        assert not _serves(cluster, namespace)
        with faults.cut_pod(cluster, namespace, web, peer=IPv4Address("192.0.2.1")):
            pass
        assert not _serves(cluster, namespace)
    assert _serves(cluster, namespace)
    with faults.cut_pod(cluster, namespace, web, peer=cluster.addresses.control_plane):
        assert _serves(cluster, namespace)


def test_a_frozen_container_neither_answers_nor_ends(cluster: Cluster, namespace: str, web: str) -> None:
    with faults.freeze_container(cluster, namespace, web):
        assert not _serves(cluster, namespace)
    assert _serves(cluster, namespace)
    assert _restarts(cluster, namespace, web) == 0


def test_a_frozen_kubelet_starts_nothing(cluster: Cluster, namespace: str) -> None:
    node = cluster.nodes[0]
    with faults.freeze_program(cluster, node, "kubelet"):
        apply(cluster, namespace, shell("late", node=node))
        with pytest.raises(HarnessError, match="timed out"):
            wait_ready(cluster, namespace, "late", timeout=3)
    wait_ready(cluster, namespace, "late")


def test_a_killed_container_is_started_again(cluster: Cluster, namespace: str, web: str) -> None:
    faults.kill_container(cluster, namespace, web)
    wait_until(lambda: _restarts(cluster, namespace, web) == 1, timeout=30, what="the restart")
    wait_until(lambda: _serves(cluster, namespace), timeout=30, what="the Pod to serve again")
    reason = "--output=jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}"
    code = cluster.kubectl("get", "pod", web, "-n", namespace, reason)
    assert int(code) == 128 + signal.SIGKILL


def test_all_pods_with_a_label_crash(cluster: Cluster, namespace: str, web: str) -> None:
    assert faults.crash(cluster, namespace, "app=web") == [web]
    wait_until(lambda: _restarts(cluster, namespace, web) == 1, timeout=30, what="the restart")
    with pytest.raises(HarnessError, match="no Pod"):
        faults.crash(cluster, namespace, "app=nothing")


def test_the_api_server_is_away_and_comes_back(cluster: Cluster, namespace: str) -> None:
    before = cluster.control_plane.machine.find("kube-apiserver")
    with faults.stop_apiserver(cluster), pytest.raises(HarnessError):
        cluster.kubectl("get", "nodes", "--request-timeout=2s")
    assert cluster.control_plane.machine.find("kube-apiserver") not in {None, before}
    apply(cluster, namespace, shell("after"))
    wait_ready(cluster, namespace, "after")
