"""Nodes that go: all at once, and one that is given up while its processes run on."""

from contextlib import ExitStack

import pytest

from tests.cluster import faults
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.e2e import kube
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.kube import eventually
from tests.e2e.subject import CLAIM, Subject

pytestmark = pytest.mark.e2e


def test_A2_all_nodes_switched_off_and_on_bring_every_member_back(
    cluster: Cluster, subject: Subject, client: EtcdClient
) -> None:
    subject.apply(size=3, pod={"persistentVolumeClaimSpec": CLAIM})
    subject.wait_ready(timeout=120)
    client.put(subject.url, "kept", "yes")
    before, ids, claims = subject.uids(), subject.ids(), subject.uids("persistentvolumeclaims")
    with ExitStack() as off:
        for node in cluster.nodes:
            off.enter_context(faults.stop_node(cluster, node))
    eventually(lambda: client.get(subject.url, "kept") == "yes", what="what was kept", timeout=120)
    subject.wait_ready(timeout=120)
    assert subject.uids() == before
    assert subject.uids("persistentvolumeclaims") == claims
    assert subject.ids() == client.member_ids(subject.url) == ids


def replaced(subject: Subject, lost: str) -> bool:
    """Whether there are three members without that one, and all of them serve."""
    return lost not in subject.ids() and subject.status["size"] == subject.status["readyMembers"] == 3


def test_X1_X6_a_member_whose_pod_was_given_up_while_it_runs_on_is_out_of_the_cluster(
    cluster: Cluster, subject: Subject, client: EtcdClient
) -> None:
    """Nobody can tell the node, which is cut off: it is replaced, and can do no harm when it is back."""
    subject.apply(size=3)
    subject.wait_ready()
    client.put(subject.url, "kept", "yes")
    before = subject.ids()
    # Not where the client is.
    elsewhere = kube.get(cluster, "pods", client.namespace, "etcd-client")["spec"]["nodeName"]
    nodes = {name: pod["spec"]["nodeName"] for name, pod in subject.pods().items()}
    lost, node = next((name, node) for name, node in sorted(nodes.items()) if node != elsewhere)
    pod = cluster.pod(subject.namespace, lost)
    with faults.cut_node(cluster, node):
        subject.kubectl("delete", "pod", lost, "--force", "--grace-period=0")
        # It may be put on the node that is cut off at first: nobody has noticed that yet.
        eventually(lambda: replaced(subject, lost), what="a new member", timeout=120)
        assert cluster.container_processes(pod), "it runs on"
        client.put(subject.url, "kept", "newer")
        after = subject.ids()

    def ended() -> bool:
        try:
            return not cluster.container_processes(pod)
        except HarnessError:
            return True

    eventually(ended, what="the old process to end", timeout=90)
    subject.wait_ready()
    assert subject.ids() == client.member_ids(subject.url) == after
    assert len(after) == 3
    assert before[lost] not in after.values()
    assert client.get(subject.url, "kept") == "newer"
