"""A cluster as an operator of old left it, taken over by this one."""

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.workloads import apply, wait_ready
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.installation import Installation
from tests.e2e.kube import Object, eventually
from tests.e2e.subject import VERSION, Subject
from tests.integration.operator.old_operator import OldCluster, lock

pytestmark = pytest.mark.e2e

MEMBERS = ("example-f8wq4m2xkz", "example-l9v6tn7rjd", "example-z5hb3s8pgc")


def of_kind(kind: str, body: Object) -> Object:
    return {"apiVersion": "v1", "kind": kind, **body}


def made_by_hand(cluster: Cluster, subject: Subject) -> None:
    """Make it in the shape of the fork, whose probes need no shell.

    Of its Pods only the init container is left out, whose image is not to be had here. All members found the
    cluster at once, to save the time that etcd takes before it lets one join after the other.
    """
    old = OldCluster(subject.name, subject.namespace, subject.get()["metadata"]["uid"], VERSION, fork=True)
    pods = [old.pod(one, [other for other in MEMBERS if other != one], token="t") for one in MEMBERS]
    for pod in pods:
        del pod["spec"]["initContainers"]
    services = [of_kind("Service", service) for service in old.services()]
    apply(cluster, subject.namespace, *services, *(of_kind("Pod", pod) for pod in pods))
    wait_ready(cluster, subject.namespace, *MEMBERS)


def as_the_documents_say(subject: Subject, operator: Installation) -> None:
    """The commands of docs/coming-from-coreos.md, and of docs/operations.md on claims."""
    subject.kubectl("wait", "etcdclusters", "--all", "--for=condition=Ready", "--timeout=120s")
    subject.wait_ready()
    stored = subject.kubectl("get", "etcdclusters", "-o", "yaml")
    inside = ("exec", "-i", "-n", operator.namespace, "deployment/etcd-operator", "--")
    verdict = subject.cluster.kubectl(*inside, "etcd-operator", "validate", "-f", "-", text=stored)
    assert f"EtcdCluster {subject.name}: valid" in verdict
    eventually(
        lambda: subject.name in subject.kubectl("get", "events", "--field-selector", "reason=Adopted"),
        what="the event",
    )
    listed = subject.kubectl("get", "pods", "-l", "app=etcd")
    assert all(member in listed for member in MEMBERS)
    column = "NAMESPACE:.metadata.namespace,NAME:.metadata.name,OPERATOR:.status.journal.claim.holder"
    claims = subject.cluster.kubectl("get", "etcdclusters", "-A", "-o", f"custom-columns={column}")
    assert f"{operator.namespace}/etcd-operator.database.coreos.com" in claims
    # By hand, as where its operator was removed for good; the one that is there claims it again.
    none = '{"status":{"journal":{"claim":null}}}'
    subject.kubectl("patch", "etcdcluster", subject.name, "--subresource=status", "--type=merge", "-p", none)
    eventually(lambda: subject.status["journal"].get("claim"), what="a claim")
    subject.wait_ready()


def test_I8_members_of_the_old_operator_go_on_as_they_are_under_this_one(
    cluster: Cluster, operator: Installation, place: str, client: EtcdClient
) -> None:
    subject = Subject(cluster, place)
    subject.apply(size=3, version=VERSION, paused=True)  # or it would be founded before they are there
    apply(cluster, place, of_kind("Endpoints", lock("then", seconds=600)))
    made_by_hand(cluster, subject)
    client.put(subject.url, "kept", "yes")
    uids, services, ids = subject.uids(), subject.uids("services"), client.member_ids(subject.url)
    address = {one["metadata"]["name"]: one["spec"]["clusterIP"] for one in subject.children("services")}

    subject.patch(paused=False)
    eventually(
        lambda: subject.condition("Available")["reason"] == "ClaimedByAnother", what="the lock to be seen"
    )
    subject.kubectl("delete", "endpoints", "etcd-operator")
    as_the_documents_say(subject, operator)

    assert subject.uids() == uids
    assert subject.uids("services") == services
    assert {
        one["metadata"]["name"]: one["spec"]["clusterIP"] for one in subject.children("services")
    } == address
    assert client.member_ids(subject.url) == ids == subject.ids()
    assert client.get(subject.url, "kept") == "yes"
    for pod in subject.pods().values():
        (container,) = pod["status"]["containerStatuses"]
        assert container["restartCount"] == 0
    # What is made anew is of the new shape, in a member's place as ever.
    subject.kubectl("delete", "pod", MEMBERS[2], "--wait=false")
    eventually(lambda: MEMBERS[2] not in subject.pods() and len(subject.pods()) == 3, what="a successor")
    subject.wait_ready()
    assert client.get(subject.url, "kept") == "yes"
