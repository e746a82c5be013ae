"""The test cluster is what it says: names, volumes, Services, the way in, the audit log."""

import sys
import urllib.request

import pytest

from tests.cluster import audit, images
from tests.cluster.cluster import Cluster
from tests.cluster.controlplane import NAME as CONTROL_PLANE
from tests.cluster.errors import HarnessError
from tests.cluster.waiting import wait_until
from tests.cluster.workloads import apply, service, shell, volume_claim, wait_ready

pytestmark = pytest.mark.e2e


def test_nodes_and_version(cluster: Cluster) -> None:
    versions = cluster.kubectl("get", "nodes", "--output=jsonpath={.items[*].status.nodeInfo.kubeletVersion}")
    assert len(cluster.nodes) == 3
    assert [version.startswith("v1.34.") for version in versions.split()] == [True] * 3


def test_a_pod_serves_from_its_volume_through_its_service(cluster: Cluster, namespace: str) -> None:
    serve = "echo hello >/data/index.html && echo written && exec httpd -f -p 8080 -h /data"
    apply(
        cluster,
        namespace,
        volume_claim("data"),
        shell("web", serve, claim="data"),
        shell("client"),
        service("web", port=80, target=8080),
    )
    wait_ready(cluster, namespace, "web", "client")
    assert cluster.kubectl("logs", "-n", namespace, "web") == "written\n"

    inside = ("exec", "-n", namespace, "client", "--")
    name = f"web.{namespace}.svc.cluster.local"
    assert cluster.kubectl(*inside, "wget", "-q", "-O-", f"http://{name}") == "hello\n"

    address = cluster.kubectl("get", "service", "web", "-n", namespace, "--output=jsonpath={.spec.clusterIP}")
    service_url = f"http://{address}"
    pod_url = f"http://{cluster.pod(namespace, 'web').address}:8080"
    for url in (service_url, pod_url):
        with urllib.request.urlopen(url, timeout=5) as answer:
            assert answer.read() == b"hello\n"
    # As the API server calls a webhook.
    fetch = (
        f"import urllib.request as r; print(r.urlopen({service_url!r}, timeout=5).read().decode(), end='')"
    )
    assert cluster.machine(CONTROL_PLANE).network(sys.executable, "-c", fetch) == "hello\n"


def test_no_name_is_looked_up_outside(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, shell("client"))
    wait_ready(cluster, namespace, "client")
    with pytest.raises(HarnessError, match="NXDOMAIN"):
        cluster.kubectl("exec", "-n", namespace, "client", "--", "nslookup", "example.com")


def test_the_audit_log_tells_what_was_forbidden(cluster: Cluster, namespace: str) -> None:
    user = audit.service_account(namespace, "default")
    with pytest.raises(HarnessError, match="Forbidden"):
        cluster.kubectl("get", "secrets", "-n", namespace, f"--as={user}")
    events = cluster.audit(user)
    assert [(event.verb, event.object_ref.resource, event.code, event.forbidden) for event in events] == [
        ("list", "secrets", 403, True)
    ]


def test_a_pods_own_requests_are_in_the_audit_log(cluster: Cluster, namespace: str) -> None:
    script = (
        "T=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token);"
        ' wget -q -O- --no-check-certificate --header "Authorization: Bearer $T"'
        " https://kubernetes.default.svc.cluster.local/api/v1/nodes; sleep infinity"
    )
    apply(cluster, namespace, shell("client", script))
    user = audit.service_account(namespace, "default")
    events = wait_until(lambda: cluster.audit(user), timeout=60, what="the request of the Pod")
    assert [event.forbidden for event in events] == [True]


def test_every_node_has_the_images(cluster: Cluster, operator_reference: str) -> None:
    wanted = {operator_reference, *(images.etcd_reference(version) for version in images.ETCD_VERSIONS)}
    for node in cluster.nodes:
        has = cluster.kubectl("get", "node", node, "--output=jsonpath={.status.images[*].names[*]}").split()
        assert wanted <= set(has), node
