"""Members that are lost come back with what they had; what can't come back is told, not made up."""

import pytest

from tests.cluster import faults
from tests.cluster.cluster import Cluster
from tests.e2e import kube
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.kube import eventually
from tests.e2e.subject import CLAIM, Subject

pytestmark = pytest.mark.e2e

ON_VOLUMES = {"size": 3, "pod": {"persistentVolumeClaimSpec": CLAIM}}


@pytest.fixture
def kept(subject: Subject, client: EtcdClient) -> Subject:
    """A cluster on volumes, with a key in it."""
    subject.apply(**ON_VOLUMES)
    subject.wait_ready(timeout=120)
    client.put(subject.url, "kept", "yes")
    return subject


def came_back(subject: Subject, before: dict[str, str]) -> bool:
    """Whether all Pods are there again under their names, none of `gone` among them, and ready."""
    now = subject.uids()
    return now.keys() == before.keys() and not before.items() <= now.items() and subject.ready()


def test_A1_F1_two_of_three_pods_deleted_come_back_as_they_were(kept: Subject, client: EtcdClient) -> None:
    names, claims, ids = kept.uids(), kept.uids("persistentvolumeclaims"), kept.ids()
    was_available = kept.condition("Available")["lastTransitionTime"]
    gone = sorted(names)[:2]
    kept.kubectl("delete", "pod", "--now", *gone)
    eventually(lambda: came_back(kept, names), what="the Pods to come back", timeout=90)

    after = kept.uids()
    assert {name for name in names if after[name] != names[name]} == set(gone)
    assert kept.uids("persistentvolumeclaims") == claims
    assert kept.ids() == client.member_ids(kept.url) == ids
    assert client.get(kept.url, "kept") == "yes"
    assert kept.condition("Available")["lastTransitionTime"] > was_available, "it never said so"


def test_B2_one_pod_deleted_comes_back_and_the_size_never_drops(kept: Subject, client: EtcdClient) -> None:
    names, ids, claims = kept.uids(), kept.ids(), kept.uids("persistentvolumeclaims")
    sizes = set()
    gone = min(names)
    kept.kubectl("delete", "pod", gone)

    def healed() -> bool:
        sizes.add(kept.status["size"])
        return came_back(kept, names)

    eventually(healed, what="the Pod to come back", timeout=90)
    assert sizes == {3}
    assert kept.ids() == client.member_ids(kept.url) == ids
    assert kept.uids("persistentvolumeclaims") == claims
    assert client.get(kept.member_url(gone), "kept") == "yes"
    annotations = kept.pod(gone)["metadata"]["annotations"]
    assert annotations["etcd.database.coreos.com/initial-cluster-state"] == "existing"


def test_I3_paused_is_told_and_obeyed(kept: Subject, client: EtcdClient) -> None:
    kept.patch(paused=True)
    eventually(lambda: kept.status["controlPaused"], what="the pause to be told")
    gone = min(kept.uids())
    kept.kubectl("delete", "pod", gone)
    # What is so is told while nothing is done about it.
    eventually(lambda: kept.status["readyMembers"] == 2, what="the loss to be told")
    assert gone in kept.status["members"]["unready"]
    assert kept.condition("Available")["status"] == "True"
    assert kept.condition("Ready")["status"] == "False"
    assert gone not in kept.pods()
    client.put(kept.url, "while-paused", "yes")

    kept.patch(paused=False)
    kept.wait_ready()
    assert kept.status["controlPaused"] is False
    assert client.get(kept.member_url(gone), "while-paused") == "yes"

    # It can be deleted while paused.
    kept.patch(paused=True)
    kept.delete()
    eventually(lambda: not kept.remains(), what="everything of it to go")


def test_A5_D8_lost_quorum_is_told_and_restarts_nobody(
    cluster: Cluster, subject: Subject, client: EtcdClient
) -> None:
    """Two of three lose their emptyDir with their Pods: nothing is made up in their place."""
    subject.apply(size=3)
    subject.wait_ready()
    client.put(subject.url, "kept", "yes")
    before = subject.uids()
    *gone, left = sorted(before)
    subject.kubectl("delete", "pod", "--now", *gone)
    subject.wait("Available", "False")
    eventually(lambda: subject.condition("Available")["reason"] == "QuorumLost", what="the reason")
    eventually(lambda: subject.status["readyMembers"] == 0, what="the last one to be not ready")
    assert subject.status["phase"] == "Failed"
    assert subject.condition("Degraded")["status"] == "True"
    assert "data" in subject.condition("Degraded")["message"].lower()

    # The one that is left is asked for its liveness at a path that needs no quorum, and it answers.
    (container,) = subject.pod(left)["spec"]["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    address = cluster.pod(subject.namespace, left).address
    assert "ok" in cluster.control_plane.machine.network("curl", "-s", f"http://{address}:2381/livez")

    def unready() -> bool:
        (status,) = subject.pod(left)["status"]["containerStatuses"]
        assert status["restartCount"] == 0
        return not status["ready"]

    eventually(unready, what="the kubelet to see that it is not ready")
    assert subject.uids() == {left: before[left]}


def test_A2_a_node_that_was_switched_off_and_on_brings_its_member_back(
    cluster: Cluster, subject: Subject, client: EtcdClient
) -> None:
    subject.apply(size=3)
    subject.wait_ready()
    client.put(subject.url, "kept", "yes")
    before, ids = subject.uids(), subject.ids()
    # Not where the operator or the client is, so that it is this cluster's matter alone.
    elsewhere = kube.get(cluster, "pods", client.namespace, "etcd-client")["spec"]["nodeName"]
    nodes = {name: pod["spec"]["nodeName"] for name, pod in subject.pods().items()}
    name, node = next((name, node) for name, node in nodes.items() if node != elsewhere)
    others = ",".join(subject.member_url(other) for other in nodes if other != name)
    with faults.stop_node(cluster, node):
        eventually(lambda: client.ctl(others, "put", "while-off", "yes"), what="the others to go on")
    # The same Pod, its container started again on the emptyDir that it had.
    eventually(
        lambda: client.get(subject.member_url(name), "while-off") == "yes", what="the member to be back"
    )
    subject.wait_ready(timeout=120)
    assert subject.uids() == before
    assert subject.ids() == ids
