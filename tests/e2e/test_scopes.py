"""Operators side by side: of two namespaces, one of them with no right outside, and a cluster-wide one."""

from collections.abc import Callable, Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.e2e import kube
from tests.e2e.installation import (
    MANIFESTS,
    Installation,
    Plan,
    delete_crds,
    installed,
    kustomized,
    overlay_for,
)
from tests.e2e.kube import eventually, refusal
from tests.e2e.subject import Subject

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator_reference")]

CLUSTER_WIDE = {"etcd.database.coreos.com/scope": "clusterwide"}


@pytest.fixture(scope="module")
def operators(
    cluster: Cluster,
    fresh_namespace: Callable[[], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Installation]]:
    """The three, by their overlays."""
    delete_crds(cluster)
    # Whoever has no right to create the CRDs needs somebody who has: here the others.
    plans = {"cluster-wide": Plan(kustomized(MANIFESTS / "cluster-wide"), "etcd-operator-system")}
    for overlay in ("namespaced", "namespaced-minimal"):
        namespace = fresh_namespace()
        folder = overlay_for(overlay, namespace, tmp_path_factory.mktemp(overlay))
        plans[overlay] = Plan(kustomized(folder), namespace)
    with installed(cluster, *plans.values()) as found:
        yield dict(zip(plans, found, strict=True))
    delete_crds(cluster)


def reporters(cluster: Cluster, namespace: str, name: str) -> set[str]:
    """The Pods of the operators that have told something about a cluster."""
    return {
        event["reportingInstance"]
        for event in kube.listed(cluster, "events", namespace)
        if event["regarding"]["name"] == name and event["regarding"]["kind"] == "EtcdCluster"
    }


def test_each_takes_its_own_and_nothing_else(
    cluster: Cluster, operators: dict[str, Installation], place: str
) -> None:
    places = {overlay: operator.namespace for overlay, operator in operators.items()}
    own = {
        "namespaced": [Subject(cluster, places["namespaced"], "own")],
        "namespaced-minimal": [Subject(cluster, places["namespaced-minimal"], "own")],
        "cluster-wide": [
            Subject(cluster, namespace, "wide", CLUSTER_WIDE) for namespace in (place, places["namespaced"])
        ],
    }
    nobodys = Subject(cluster, place, "nobodys")
    nobodys.apply(size=1)
    for subject in [one for subjects in own.values() for one in subjects]:
        subject.apply(size=1, version="3.6.16")
    for overlay, subjects in own.items():
        pods = {pod["metadata"]["name"] for pod in operators[overlay].pods()}
        for subject in subjects:
            subject.wait("Available")
            told = eventually(
                lambda subject=subject: reporters(cluster, subject.namespace, subject.name),  # type: ignore[misc]  # mypy infers no type for a lambda with defaults
                what="events",
            )
            assert told <= pods, f"{overlay}: {subject.name}"
    assert "status" not in nobodys.get()
    assert nobodys.remains() == []


def test_each_judges_its_own(cluster: Cluster, operators: dict[str, Installation], place: str) -> None:
    namespaced = operators["namespaced"].namespace
    assert "spec.size" in refusal(
        lambda: Subject(cluster, namespaced, "bad").apply(version="nonsense", size=0)
    )
    assert "spec.version" in refusal(
        lambda: Subject(cluster, place, "bad", CLUSTER_WIDE).apply(version="nonsense")
    )
    # Nobody's webhook judges this one, and defaults are nobody's either; the schema holds all the same.
    Subject(cluster, place, "unjudged").apply(paused=True)
    assert Subject(cluster, place, "unjudged").get()["spec"] == {"paused": True}
    assert "spec.size" in refusal(lambda: Subject(cluster, place, "unjudged").apply(size=0))


def test_without_a_webhook_the_status_says_what_is_wrong(
    cluster: Cluster, operators: dict[str, Installation]
) -> None:
    minimal = operators["namespaced-minimal"]
    subject = Subject(cluster, minimal.namespace, "wrong")
    subject.apply(pod={"labels": {"app": "mine"}})
    eventually(lambda: subject.condition("Stalled")["status"] == "True", what="the verdict")
    assert subject.condition("Stalled")["reason"] == "SpecInvalid"
    assert "spec.pod.labels" in subject.condition("Stalled")["message"]
    assert subject.remains() == []
    # Put right, it is made, with the defaults although nobody wrote them down.
    subject.patch(pod=None)
    subject.wait("Available")
    assert subject.status["size"] == 3


def test_H12_each_has_rights_enough(operators: dict[str, Installation]) -> None:
    for overlay, operator in operators.items():
        assert operator.requests(), overlay
        assert operator.refused() == set(), overlay
