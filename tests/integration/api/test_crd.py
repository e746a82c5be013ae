"""The CRDs on a real API server: structural, in the webhook's words, stored objects still writable."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from app.api import unbuilt
from app.api.base import GROUP
from app.api.crd import crds
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.cluster.waiting import wait_until
from tests.unit.api import objects
from tests.unit.api.checks import faults, faults_of_change
from tests.unit.api.objects import changed, claim, claimed, cluster, static_tls, with_pod, without

pytestmark = pytest.mark.integration

NAME = "example"
OTHERS_CLAIM = {"resources": {"requests": {"storage": "1Gi"}}}


class Server:
    """One namespace of an API server, with the CRDs."""

    def __init__(self, control_plane: Cluster, namespace: str) -> None:
        self.control_plane = control_plane
        self.namespace = namespace

    def kubectl(self, *arguments: str, text: str = "") -> str:
        return self.control_plane.kubectl(f"--namespace={self.namespace}", *arguments, text=text)

    def create(self, obj: dict[str, Any]) -> None:
        self.kubectl("create", "--validate=strict", "-f-", text=json.dumps(self.here(obj)))

    def get(self, plural: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", f"{plural}.{GROUP}", name, "-o", "json"))
        return found

    def replace(self, plural: str, obj: dict[str, Any], *, subresource: str = "") -> None:
        """Put an object as it is: ``kubectl replace`` would read it first, and so hide conflicts."""
        name = obj["metadata"]["name"]
        version = self.get(plural, name)["metadata"]["resourceVersion"]
        body = changed(self.here(obj), "metadata.resourceVersion", version)
        path = f"/apis/{GROUP}/v1beta2/namespaces/{self.namespace}/{plural}/{name}{subresource}"
        self.kubectl("replace", "--raw", path, "-f-", text=json.dumps(body))

    def here(self, obj: dict[str, Any]) -> dict[str, Any]:
        return changed(obj, "metadata.namespace", self.namespace)


def install(control_plane: Cluster, crd: dict[str, Any]) -> None:
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f-", text=json.dumps(crd))
    name = crd["metadata"]["name"]
    wait_until(
        lambda: control_plane.kubectl("get", name, "-A", "-o=name") is not None,
        timeout=30,
        what=f"{name} to be served",
    )


@pytest.fixture(scope="module")
def served(control_plane: Cluster) -> Cluster:
    for crd in crds().values():
        install(control_plane, crd)
    return control_plane


@pytest.fixture
def server(served: Cluster, namespace: str) -> Server:
    return Server(served, namespace)


def test_H14_every_crd_is_structural_and_served(server: Server) -> None:
    for crd in crds().values():
        name = crd["metadata"]["name"]
        status = json.loads(server.kubectl("get", "crd", name, "-o", "json"))["status"]
        found = {condition["type"]: condition["status"] for condition in status["conditions"]}
        assert found == {"NamesAccepted": "True", "Established": "True"}


@pytest.mark.parametrize("plural", ["etcdclusters", "etcdbackups", "etcdrestores"])
def test_client_side_apply_takes_it_and_finds_no_drift(server: Server, plural: str) -> None:
    text = yaml.safe_dump(crds()[plural])
    server.kubectl("apply", "--dry-run=server", "-f-", text=text)
    server.kubectl("apply", "--server-side", "--force-conflicts", "-f-", text=text)
    server.kubectl("diff", "--server-side", "--force-conflicts", "-f-", text=text)


@pytest.mark.parametrize("obj", [objects.EXAMPLE, objects.FULL], ids=["example", "full"])
def test_good_objects_are_stored_as_they_are(server: Server, obj: dict[str, Any]) -> None:
    server.create(obj)
    assert server.get("etcdclusters", obj["metadata"]["name"])["spec"] == obj["spec"]


def test_fields_are_explained(server: Server) -> None:
    path = "etcdclusters.spec.pod.persistentVolumeClaimSpec.resources.requests"
    assert "Requests describes" in server.kubectl("explain", path)
    assert "Not available in this version" in server.kubectl("explain", "etcdclusters.spec.maintenance")


def test_columns(server: Server) -> None:
    server.create(cluster(size=3))
    header = server.kubectl("get", "etcd").splitlines()[0].split()
    assert header == ["NAME", "SIZE", "READY", "VERSION", "PHASE", "AVAILABLE", "AGE"]


@pytest.mark.parametrize("size", [0, 8, -3])
def test_C6_sizes_are_denied_while_the_webhook_is_down(server: Server, size: int) -> None:
    with pytest.raises(HarnessError) as denied:
        server.create(cluster(size=size))
    (fault,) = faults(cluster(size=size))
    assert f"{fault.path}: " in str(denied.value)
    assert fault.message in str(denied.value)


def test_C6_deadlines_are_denied_while_the_webhook_is_down(server: Server) -> None:
    given = cluster(size=3, recovery={"memberReplaceAfterSeconds": 5})
    with pytest.raises(HarnessError) as denied:
        server.create(given)
    (fault,) = faults(given)
    assert f"{fault.path}: " in str(denied.value)
    assert fault.message in str(denied.value)


DENIED = [
    (cluster(size=3), cluster(size=9)),
    (with_pod(), claimed()),
    (claimed(), with_pod()),
    (claimed(), without(with_pod(), "spec.pod")),
    (claimed(), claimed(resources={"requests": {"storage": "9Gi"}})),
    (claimed(), claimed(resources={"requests": {"storage": 5}})),
    (claimed(), claimed(resources={})),
    (claimed(resources={"requests": {"storage": 12884901888}}), claimed()),
    (claimed(), claimed(storageClassName="slow")),
    (claimed(), claimed(storageClassName=None)),
    (claimed(storageClassName=None), claimed()),
    (claimed(), claimed(accessModes=["ReadWriteOncePod", "ReadWriteOnce"])),
    (claimed(accessModes=["ReadWriteOnce", "ReadWriteOncePod"]), claimed()),
    (claimed(accessModes=None), claimed()),
    (with_pod(), with_pod(ClusterDomain=".a")),
    (cluster(size=3), cluster(size=3, pod={"ClusterDomain": ".a"})),
    (with_pod(ClusterDomain=".a"), with_pod(ClusterDomain=".b")),
    (cluster(size=3, pod={"ClusterDomain": ".a"}), cluster(size=3)),
    (cluster(size=3), cluster(size=3, TLS=static_tls())),
    (cluster(size=3, TLS=static_tls()), cluster(size=3)),
    (cluster(size=3, TLS=static_tls()), cluster(size=3, TLS=static_tls(server=None, operator=None))),
]


@pytest.mark.parametrize(("old", "new"), DENIED)
def test_changes_are_denied_in_the_webhooks_words(
    server: Server, old: dict[str, Any], new: dict[str, Any]
) -> None:
    server.create(old)
    with pytest.raises(HarnessError) as denied:
        server.replace("etcdclusters", new)
    expected = faults_of_change(old, new) or faults(new)
    assert expected
    for fault in expected:
        assert f"{fault.path}: " in str(denied.value)
        assert fault.message in str(denied.value)


ALLOWED = [
    (cluster(size=3), cluster(size=5)),
    (cluster(size=3), cluster(size=3, pod={})),
    (cluster(size=3, pod={"ClusterDomain": ""}), cluster(size=3)),
    (cluster(size=3, TLS={}), cluster(size=3)),
    (cluster(size=3, TLS=static_tls()), cluster(size=3, TLS=static_tls(peer="other"))),
    (claimed(), claimed(resources={"requests": {"storage": "11Gi"}})),
    (claimed(), claimed(resources={"requests": {"storage": "10240Mi"}})),
    (claimed(), with_pod(persistentVolumeClaimSpec=claim(), labels={"a": "b"})),
]


@pytest.mark.parametrize(("old", "new"), ALLOWED)
def test_changes_that_no_rule_of_the_crd_is_about(
    server: Server, old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert not faults_of_change(old, new)
    server.create(old)
    server.replace("etcdclusters", new)


@pytest.fixture
def without_rules(server: Server) -> Iterator[Server]:
    """A server whose CRDs take anything, as the old operator's did; the real ones come back afterwards."""
    for crd in crds().values():
        lax = copy.deepcopy(crd)
        lax["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
        install(server.control_plane, lax)
    yield server
    for crd in crds().values():
        install(server.control_plane, crd)


def restore_rules(server: Server) -> None:
    """Install the CRDs and wait until the API server goes by them."""
    for crd in crds().values():
        install(server.control_plane, crd)
    probe = server.here(cluster(name="probe", size=99))

    def denied() -> bool:
        try:
            server.kubectl("create", "--dry-run=server", "-f-", text=json.dumps(probe))
        except HarnessError:
            return True
        return False

    wait_until(denied, timeout=30, what="the API server to go by the CRDs")


def test_W16_what_the_old_operator_stored_stays_writable(without_rules: Server) -> None:
    server = without_rules
    server.create(changed(objects.OLD, "metadata.name", NAME))
    restore_rules(server)
    stored = server.get("etcdclusters", NAME)
    server.kubectl("label", "etcd", NAME, "a=b")
    server.replace("etcdclusters", {**stored, "status": objects.OLD_STATUS}, subresource="/status")
    server.replace("etcdclusters", {**stored, "status": {"conditions": None}}, subresource="/status")
    server.replace("etcdclusters", changed(stored, "spec.paused", True))
    with pytest.raises(HarnessError, match="the nearest valid value is 7"):
        server.replace("etcdclusters", changed(stored, "spec.size", 9))
    server.replace("etcdclusters", changed(stored, "spec.size", 7))


@pytest.mark.parametrize("kind", sorted(unbuilt.KINDS))
def test_kinds_that_nothing_reconciles_are_denied_and_stored_ones_stay_writable(
    without_rules: Server, kind: str
) -> None:
    server, plural = without_rules, f"{kind.lower()}s"
    obj = {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": kind,
        "metadata": {"name": NAME, "finalizers": ["example.com/x"]},
        "spec": {},
        "status": {"succeeded": True, **({"lastSuccessDate": None} if kind == "EtcdBackup" else {})},
    }
    server.create(obj)
    restore_rules(server)
    with pytest.raises(HarnessError) as denied:
        server.create(changed(obj, "metadata.name", "second"))
    assert f"spec: Forbidden: {unbuilt.kind_denial(kind)}" in str(denied.value)
    server.replace(plural, obj, subresource="/status")
    server.replace(plural, changed(obj, "metadata.finalizers", []))
