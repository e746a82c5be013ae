"""A cluster that is deleted leaves nothing, by Kubernetes' own garbage collection."""

from collections.abc import Callable

import pytest

from tests.cluster import faults
from tests.cluster.cluster import Cluster
from tests.e2e.installation import Installation
from tests.e2e.kube import eventually
from tests.e2e.subject import CLAIM, Subject

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module", autouse=True)
def doomed(cluster: Cluster, operator: Installation, fresh_namespace: Callable[[], str]) -> Subject:
    """A cluster whose namespace is being deleted: that takes Kubernetes a while."""
    subject = Subject(cluster, fresh_namespace())
    subject.apply(size=3, pod={"persistentVolumeClaimSpec": CLAIM})
    subject.wait("Available", timeout=120)
    cluster.kubectl("delete", "namespace", subject.namespace, "--wait=false")
    return subject


def test_F5_deleted_in_the_background_or_the_foreground_or_left_as_orphans(
    cluster: Cluster, operator: Installation, place: str
) -> None:
    background, foreground, orphaned = (
        Subject(cluster, place, name) for name in ("background", "foreground", "orphaned")
    )
    everything = (background, foreground, orphaned)
    for one in everything:
        one.apply(size=1, pod={"persistentVolumeClaimSpec": CLAIM})
    for one in everything:
        one.wait_ready(timeout=120)
        assert len(one.remains()) == 4

    background.delete()
    foreground.delete(cascade="foreground")
    assert foreground.remains() == [], "the object goes last"
    eventually(lambda: not background.remains(), what="everything of it to go")

    before = orphaned.uids()
    orphaned.delete(cascade="orphan")
    kinds = ("pods", "persistentvolumeclaims", "services")
    children = [child for kind in kinds for child in orphaned.children(kind)]
    assert len(children) == 4
    assert not any(child["metadata"].get("ownerReferences") for child in children)
    assert orphaned.uids() == before

    # A cluster made anew under the name doesn't take what isn't its own, and says so.
    orphaned.apply(size=1, pod={"persistentVolumeClaimSpec": CLAIM})
    eventually(lambda: orphaned.condition("Stalled")["status"] == "True", what="it to stall")
    assert orphaned.uids() == before


def test_F5_deleted_while_the_operator_is_down(
    cluster: Cluster, operator: Installation, subject: Subject
) -> None:
    subject.apply(size=1)
    subject.wait_ready()
    pids = [
        pid
        for pod in cluster.pods(operator.namespace, "name=etcd-operator")
        for pid in cluster.container_processes(pod)
    ]
    with faults.freeze(pids):
        subject.delete()
        eventually(lambda: not subject.remains(), what="everything of it to go")


def test_H7_the_same_name_in_two_namespaces(
    cluster: Cluster, operator: Installation, fresh_namespace: Callable[[], str]
) -> None:
    one, other = (Subject(cluster, fresh_namespace(), "same") for _ in range(2))
    for subject in (one, other):
        subject.apply(size=1)
    for subject in (one, other):
        subject.wait_ready()
    assert one.status["clusterID"] != other.status["clusterID"]
    assert not one.uids().keys() & other.uids().keys()
    one.delete()
    eventually(lambda: not one.remains(), what="everything of the one to go")
    assert other.ready()
    assert len(other.remains()) == 3
    for subject in (one, other):
        cluster.kubectl("delete", "namespace", subject.namespace, "--wait=false")


def test_W28_a_namespace_is_deleted_with_its_clusters(cluster: Cluster, doomed: Subject) -> None:
    cluster.kubectl("wait", "--for=delete", f"namespace/{doomed.namespace}", "--timeout=60s")
