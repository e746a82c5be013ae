"""The operator's own life beside clusters that go on: restarts, a new leader, its end, its metrics."""

import re
import urllib.request
from collections.abc import Callable

import pytest

from app.config import load
from tests.cluster.cluster import Cluster
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.installation import Installation, kill_leader
from tests.e2e.kube import eventually
from tests.e2e.subject import Subject

pytestmark = pytest.mark.e2e

CONFIG = load([], {"MY_POD_NAMESPACE": "x"})

METRICS = (
    "certificate_expiry_seconds",
    "controller_runtime_active_workers",
    "controller_runtime_reconcile_time_seconds",
    "controller_runtime_reconcile_total",
    "controller_runtime_webhook_latency_seconds",
    "controller_runtime_webhook_requests_total",
    "etcd_operator_cluster_reconcile_duration",
    "etcd_operator_controller_clusters",
    "leader_election_master_status",
    "process_resident_memory_bytes",
    "rest_client_requests_total",
    "watch_last_event_age_seconds",
    "workqueue_adds_total",
    "workqueue_depth",
)


@pytest.fixture(scope="module")
def running(cluster: Cluster, operator: Installation, fresh_namespace: Callable[[], str]) -> Subject:
    """A cluster whose Pods are to stay as they are."""
    subject = Subject(cluster, fresh_namespace(), "running")
    subject.apply(size=3)
    subject.wait_ready()
    return subject


def state(subject: Subject) -> dict[str, tuple[str, str, int]]:
    """Each Pod's uid, version and restarts."""
    return {
        name: (
            pod["metadata"]["uid"],
            pod["metadata"]["resourceVersion"],
            pod["status"]["containerStatuses"][0]["restartCount"],
        )
        for name, pod in subject.pods().items()
    }


def ask(operator: Installation, pod: str, path: str) -> str:
    address = operator.cluster.pod(operator.namespace, pod).address
    with urllib.request.urlopen(f"http://{address}:8080{path}", timeout=5) as answer:
        text: str = answer.read().decode()
        return text


def names(operator: Installation) -> set[str]:
    return {pod["metadata"]["name"] for pod in operator.pods()}


def test_metrics_and_probes_answer_in_every_replica(operator: Installation, running: Subject) -> None:
    operator.wait_rolled_out()
    replicas = names(operator)
    assert len(replicas) == 2
    leader = operator.wait_leader()
    for pod in replicas:
        assert ask(operator, pod, "/healthz") == "ok\n"
        assert "[+]webhook ok" in ask(operator, pod, "/readyz")
        text = ask(operator, pod, "/metrics")
        # By their types: of what has not happened yet there is no number.
        assert [name for name in METRICS if f"# TYPE {name} " not in text] == []
        leads = f'leader_election_master_status{{name="{CONFIG.lease.name}"}} {float(pod == leader)}'
        assert leads in text
    assert re.search(
        r"^etcd_operator_controller_clusters [1-9]", ask(operator, leader, "/metrics"), re.MULTILINE
    )


def test_its_replicas_are_on_different_nodes(operator: Installation) -> None:
    assert len({pod["spec"]["nodeName"] for pod in operator.pods()}) == 2


def test_I4_told_to_stop_it_hands_over_at_once(operator: Installation, running: Subject, place: str) -> None:
    before = state(running)
    leader = operator.leader()
    operator.kubectl("delete", "pod", leader, "--wait=false")
    # Far less than the Lease's duration: it was given up.
    operator.wait_leader(other_than=leader, timeout=CONFIG.lease.duration / 2)
    new = Subject(operator.cluster, place)
    new.apply(size=1)
    new.wait("Available")
    # Its Pod drains for a few seconds and ends, long before it would be killed.
    operator.kubectl("wait", "--for=delete", f"pod/{leader}", "--timeout=20s")
    operator.wait_rolled_out()
    assert state(running) == before


def test_I5_a_leader_that_is_killed_is_replaced(operator: Installation, running: Subject, place: str) -> None:
    before = state(running)
    was = operator.lease()["holderIdentity"]
    kill_leader(operator)
    new = Subject(operator.cluster, place)
    eventually(lambda: new.apply(size=1), what="a webhook to answer")
    new.wait("Available")
    assert operator.lease()["holderIdentity"] != was
    operator.wait_rolled_out()
    assert state(running) == before


def test_a_rollout_changes_no_cluster(operator: Installation, running: Subject, client: EtcdClient) -> None:
    before, replicas = state(running), names(operator)
    operator.kubectl("rollout", "restart", "deployment/etcd-operator")
    # Whoever changes a cluster meanwhile is served: a webhook answers at any time.
    changes = 0

    def rolled_out() -> bool:
        nonlocal changes
        changes += 1
        running.kubectl("annotate", "etcdcluster", running.name, f"change={changes}", "--overwrite")
        return not replicas & names(operator)

    eventually(rolled_out, what="the new replicas alone to be there", timeout=90)
    operator.wait_rolled_out()
    operator.wait_leader()
    eventually(lambda: running.status["readyMembers"] == 3, what="the status")
    assert changes > 3
    assert state(running) == before
    client.put(running.url, "after", "rollout")
