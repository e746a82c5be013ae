"""The walk-through of the operator that this one succeeds, step by step, in a namespace of one's choice."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
import yaml

from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.e2e import kube
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.installation import CRDS, MANIFESTS, Installation, crd, delete_crds, kubectl_program
from tests.e2e.kube import eventually, refusal
from tests.e2e.subject import Subject

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator_reference")]

# As people have it: the old operator's own example, with nothing changed but the image.
OLD_DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: etcd-operator
spec:
  replicas: 1
  selector:
    matchLabels:
      name: etcd-operator
  template:
    metadata:
      labels:
        name: etcd-operator
    spec:
      containers:
      - name: etcd-operator
        image: quay.io/coreos/etcd-operator:v0.10.0
        command:
        - etcd-operator
        - -create-crd=true
        - -chaos-level=-1
        env:
        - name: MY_POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: MY_POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
"""


def create_role(cluster: Cluster, *options: str, **variables: str) -> str:
    """Run the script as a user would, with its options as environment or flags."""
    path = f"{kubectl_program().parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "KUBECONFIG": str(cluster.kubeconfig)} | variables
    done = subprocess.run(
        [MANIFESTS / "create_role.sh", *options],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode:
        raise HarnessError(done.stderr)
    return done.stdout


@pytest.fixture
def remove(cluster: Cluster, place: str) -> Iterator[Callable[[str, str], None]]:
    """Takes away what create_role.sh made outside the namespace, and what the operator made there."""
    made = []

    def note(role: str, binding: str) -> None:
        made.append((f"clusterrole/{role}", f"clusterrolebinding/{binding}"))

    yield note
    names = [name for pair in made for name in pair]
    webhooks = [f"{kind}webhookconfiguration/etcd-operator-{place}" for kind in ("mutating", "validating")]
    cluster.kubectl("delete", "-n", place, "deployment", "etcd-operator", "--ignore-not-found")
    cluster.kubectl("delete", "--ignore-not-found", *names, *webhooks)
    delete_crds(cluster)


def test_the_walk_through(
    cluster: Cluster, place: str, client: EtcdClient, remove: Callable[[str, str], None]
) -> None:
    delete_crds(cluster)
    remove("etcd-operator", "etcd-operator")
    assert "clusterrole.rbac.authorization.k8s.io/etcd-operator created" in create_role(
        cluster, NAMESPACE=place
    )
    assert "created" not in create_role(cluster, NAMESPACE=place)
    with pytest.raises(HarnessError, match=f"binds the role etcd-operator to the namespace {place} already"):
        create_role(cluster, NAMESPACE="default")

    operator = Installation(cluster, place, account="default")
    operator.kubectl("apply", "-f", str(MANIFESTS / "deployment.yaml"))
    operator.wait_rolled_out()
    assert set(CRDS) <= {line.split()[0] for line in cluster.kubectl("get", "crd").splitlines()}

    example = Subject(cluster, place, "example-etcd-cluster")
    example.kubectl("apply", "-f", str(MANIFESTS / "example-etcd-cluster.yaml"))
    example.wait("Available")
    pods = example.pods()
    assert len(pods) == 3
    assert all(re.fullmatch("example-etcd-cluster-[a-z0-9]{10}", name) for name in pods)
    services = {one["metadata"]["name"]: one["spec"]["clusterIP"] for one in example.children("services")}
    assert services.keys() == {"example-etcd-cluster", "example-etcd-cluster-client"}
    assert services["example-etcd-cluster"] == "None"
    client.put(example.url, "hello", "world")
    assert client.get(example.url, "hello") == "world"

    example.delete()
    eventually(lambda: not example.remains(), what="everything of the cluster to go")
    assert operator.requests()
    assert operator.refused() == set()


def test_an_old_deployment_works_with_its_image_changed(
    cluster: Cluster, place: str, remove: Callable[[str, str], None]
) -> None:
    role, binding = f"etcd-role-{place}", f"etcd-binding-{place}"
    remove(role, binding)
    create_role(cluster, f"--role-name={role}", f"--role-binding-name={binding}", f"--namespace={place}")
    kube.apply(cluster, place, yaml.safe_load(OLD_DEPLOYMENT))
    operator = Installation(cluster, place, account="default")
    operator.wait_rolled_out()

    # It has no probes, so it counts as ready before it serves; who retries gets through.
    example = Subject(cluster, place)
    eventually(lambda: crd(cluster, CRDS[0])["status"], what="the CRDs")
    eventually(lambda: example.apply(size=1), what="the webhook to answer")
    example.wait("Available")
    denied = refusal(lambda: Subject(cluster, place, "bad").apply(size=0))
    assert "spec.size" in denied
    assert "--chaos-level is ignored" in operator.kubectl("logs", "deployment/etcd-operator")

    # The old example as it is gets through. There is no such image to be had here, and the status says so.
    old = Subject(cluster, place, "example-etcd-cluster")
    old.apply(size=3, version="3.2.13")
    eventually(lambda: old.condition("Ready")["reason"] == "ImagePullFailed", what="the reason")
    assert "quay.io/coreos/etcd:v3.2.13" in old.condition("Ready")["message"]


def test_create_role_explains_itself(cluster: Cluster) -> None:
    said = create_role(cluster, "--help")
    assert all(name in said for name in ("ROLE_NAME", "ROLE_BINDING_NAME", "NAMESPACE"))
    for wrong in ("--role=x", "--namespace=", "--namespace=a b", "--namespace=not-there"):
        with pytest.raises(HarnessError, match=r"create_role\.sh: "):
            create_role(cluster, wrong)
