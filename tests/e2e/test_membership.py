"""Members come and go on a real cluster: by order, and after a loss."""

import pytest

from tests.cluster import faults
from tests.cluster.cluster import Cluster
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.installation import Installation, kill_leader
from tests.e2e.kube import eventually
from tests.e2e.subject import CLAIM, Subject

pytestmark = pytest.mark.e2e

ON_VOLUMES = {"persistentVolumeClaimSpec": CLAIM}


def scale(subject: Subject, size: int) -> None:
    """As a person does, or an autoscaler."""
    subject.kubectl("scale", "etcdclusters", subject.name, f"--replicas={size}")
    subject.wait_ready(timeout=120)


def agrees(subject: Subject, client: EtcdClient, size: int) -> bool:
    """Whether etcd, the status, the Pods and the claims tell of the same members, that many."""
    listed = client.member_ids(subject.url)
    told = subject.ids()
    assert listed == told
    assert set(subject.pods()) == set(subject.uids("persistentvolumeclaims")) == set(told)
    return len(told) == size


def test_C3_C11_I5_a_cluster_is_scaled_up_and_down_again_and_keeps_its_keys(
    operator: Installation, subject: Subject, client: EtcdClient
) -> None:
    """The operator dies on the way up, and another one goes on."""
    subject.apply(size=1, pod=ON_VOLUMES)
    subject.wait_ready()
    client.put(subject.url, "kept", "yes")

    subject.kubectl("scale", "etcdclusters", subject.name, "--replicas=3")
    eventually(lambda: len(subject.ids()) > 1, what="the first new member")
    kill_leader(operator)
    subject.wait_ready(timeout=120)
    operator.wait_rolled_out()  # so that a webhook answers at any time again
    for size in (3, 1):
        scale(subject, size)
        assert agrees(subject, client, size)
        assert client.get(subject.url, "kept") == "yes"
    events = subject.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}")
    assert {"NewMemberAdded", "MemberPromoted", "MemberRemoved"} <= set(events.split())


def test_B3_B7_X1_a_member_on_an_empty_dir_is_replaced_by_a_new_one(
    operator: Installation, subject: Subject, client: EtcdClient
) -> None:
    """Also when the operator dies between the end of one and the start of the other."""
    subject.apply(size=3)
    subject.wait_ready()
    client.put(subject.url, "kept", "yes")
    before = subject.ids()
    gone = min(before)

    subject.kubectl("delete", "pod", gone)
    eventually(lambda: subject.ids().keys() != before.keys(), what="the member to leave")
    kill_leader(operator)
    eventually(lambda: gone not in subject.ids() and subject.ready(), what="a new member", timeout=90)
    operator.wait_rolled_out()

    after = subject.ids()
    assert len(after) == 3
    assert {name: after.get(name) for name in before if name != gone} == {
        name: before[name] for name in before if name != gone
    }
    assert client.get(subject.url, "kept") == "yes"
    assert sum(pod["status"]["containerStatuses"][0]["restartCount"] for pod in subject.pods().values()) == 0


def test_A10_B10_X30_a_member_whose_database_is_corrupt_is_replaced(
    cluster: Cluster, subject: Subject, client: EtcdClient
) -> None:
    subject.apply(size=3, pod=ON_VOLUMES)
    subject.wait_ready(timeout=120)
    client.put(subject.url, "kept", "yes")
    before = subject.ids()
    lost = min(before)  # a founder like any other

    node = subject.pod(lost)["spec"]["nodeName"]
    (database,) = cluster.machine(node).disk.glob(f"volumes/*_{lost}/data/member/snap/db")
    database.write_bytes(bytes(database.stat().st_size))
    faults.kill_container(cluster, subject.namespace, lost)
    eventually(lambda: lost not in subject.ids() and subject.ready(), what="a new member", timeout=150)

    assert agrees(subject, client, 3)
    assert client.get(subject.url, "kept") == "yes"
