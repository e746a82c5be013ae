"""A cluster as the example asks for it: what it consists of, what it says, and that it serves."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.workloads import apply, shell, wait_ready
from tests.e2e import kube
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.installation import MANIFESTS, Installation
from tests.e2e.kube import eventually
from tests.e2e.subject import VERSION, Subject

pytestmark = pytest.mark.e2e

TYPES = {
    "Available": "True",
    "Ready": "True",
    "Progressing": "False",
    "Degraded": "False",
    "Stalled": "False",
    "Scaling": "False",
    "Upgrading": "False",
    "Recovering": "False",
}


@pytest.fixture(scope="module")
def example(cluster: Cluster, operator: Installation, fresh_namespace: Callable[[], str]) -> Subject:
    """The shipped example, available."""
    subject = Subject(cluster, fresh_namespace(), "example-etcd-cluster")
    subject.kubectl("apply", "-f", str(MANIFESTS / "example-etcd-cluster.yaml"))
    subject.wait("Available")
    subject.wait_ready()
    return subject


def test_D7_it_serves_through_its_service_without_a_shell_in_its_image(
    example: Subject, client: EtcdClient
) -> None:
    client.put(example.url, "greeting", "hello")
    assert client.get(example.url, "greeting") == "hello"
    for member in example.pods():
        assert client.get(example.member_url(member), "greeting") == "hello"


def test_its_children_are_named_and_labelled_as_they_were(example: Subject) -> None:
    pods = example.pods()
    assert len(pods) == 3
    for name, pod in pods.items():
        assert re.fullmatch("example-etcd-cluster-[a-z0-9]{10}", name)
        labels = {"app": "etcd", "etcd_node": name, "etcd_cluster": example.name}
        assert labels.items() <= pod["metadata"]["labels"].items()
        assert pod["metadata"]["annotations"]["etcd.version"] == VERSION
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == (name, example.name)
    owner = {"kind": "EtcdCluster", "name": example.name, "uid": example.get()["metadata"]["uid"]}
    for child in [*pods.values(), *example.children("services")]:
        (reference,) = child["metadata"]["ownerReferences"]
        assert owner.items() <= reference.items()
        assert reference["controller"] is True


def test_its_members_are_spread_over_the_nodes_even_if_one_has_far_more_room(
    cluster: Cluster, operator: Installation, place: str
) -> None:
    """The nodes have no zones, as in many clusters."""
    *full, _empty = cluster.nodes
    apply(cluster, place, *(ballast(node) for node in full))
    wait_ready(cluster, place, *full)
    subject = Subject(cluster, place)
    subject.apply(size=3)
    subject.wait("Available")
    assert {pod["spec"]["nodeName"] for pod in subject.pods().values()} == set(cluster.nodes)


def ballast(node: str) -> kube.Object:
    """A Pod that takes half of a node, as far as the scheduler is concerned."""
    made = shell(node, node=node)
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "8Gi"}}
    return made


def test_X35_its_pods_get_neither_service_variables_nor_a_token(example: Subject) -> None:
    for pod in example.pods().values():
        assert pod["spec"]["enableServiceLinks"] is False
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert [volume["name"] for volume in pod["spec"]["volumes"]] == ["etcd-data"]


def test_X24_members_find_each_other_before_they_are_ready(example: Subject) -> None:
    services = {service["metadata"]["name"]: service["spec"] for service in example.children("services")}
    assert services.keys() == {example.name, f"{example.name}-client"}
    peers, clients = services[example.name], services[f"{example.name}-client"]
    assert peers["clusterIP"] == "None"
    assert peers["publishNotReadyAddresses"] is True
    assert "publishNotReadyAddresses" not in clients
    assert [port["port"] for port in clients["ports"]] == [2379]


def test_its_status_is_what_etcd_says(example: Subject, client: EtcdClient) -> None:
    status = example.status
    assert (status["phase"], status["size"], status["readyMembers"]) == ("Running", 3, 3)
    assert status["controlPaused"] is False
    assert sorted(status["members"]["ready"]) == sorted(example.pods())
    assert status["currentVersion"] == VERSION
    assert (status["serviceName"], status["clientPort"]) == (f"{example.name}-client", 2379)
    assert status["observedGeneration"] == example.get()["metadata"]["generation"]
    assert example.ids() == client.member_ids(example.url)
    told: list[dict[str, Any]] = json.loads(
        client.ctl(example.url, "endpoint", "status", "--cluster", "--write-out=json")
    )
    (leader,) = {f"{one['Status']['leader']:x}" for one in told}
    (cluster_id,) = {f"{one['Status']['header']['cluster_id']:x}" for one in told}
    assert example.ids()[status["leader"]] == leader
    assert status["clusterID"] == cluster_id


def test_I6_every_condition_is_there_with_its_reason(example: Subject) -> None:
    conditions = example.status["conditions"]
    assert {condition["type"]: condition["status"] for condition in conditions} == TYPES
    for condition in conditions:
        assert condition["reason"]
        assert condition["observedGeneration"] == example.status["observedGeneration"]


def test_its_members_would_not_found_it_anew(example: Subject) -> None:
    for name, pod in example.pods().items():
        annotations = pod["metadata"]["annotations"]
        assert annotations["etcd.database.coreos.com/initial-cluster-state"] == "existing"
        assert f"{name}=" not in annotations["etcd.database.coreos.com/initial-cluster"]


def test_H12_its_events_are_there_to_read(example: Subject) -> None:
    def reasons() -> set[str]:
        return {event["reason"] for event in kube.listed(example.cluster, "events", example.namespace)}

    eventually(lambda: {"Bootstrapping", "ClusterFormed"} <= reasons(), what="the events")
    described = example.kubectl("describe", "etcdcluster", example.name)
    assert "ClusterFormed" in described


def test_kubectl_shows_what_one_wants_to_know(example: Subject) -> None:
    head, row = example.kubectl("get", "etcd").splitlines()
    assert head.split() == ["NAME", "SIZE", "READY", "VERSION", "PHASE", "AVAILABLE", "AGE"]
    assert row.split()[:-1] == [example.name, "3", "3", VERSION, "Running", "True"]


def test_P22_a_settled_cluster_is_not_written_to(example: Subject) -> None:
    def versions() -> dict[str, str]:
        kinds = ("pods", "services")
        objects = [example.get(), *(child for kind in kinds for child in example.children(kind))]
        return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in objects}

    before = versions()
    # Whatever wakes the operator for this cluster: here a label on one of its Pods, and off again.
    pod = next(iter(example.pods()))
    example.kubectl("label", "pod", pod, "touched=yes")
    example.kubectl("label", "pod", pod, "touched-")
    other = Subject(example.cluster, example.namespace, "other")
    other.apply(size=1)
    other.wait("Available")
    after = versions()
    assert {**after, pod: ""} == {**before, pod: ""}
    other.delete()
