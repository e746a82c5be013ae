"""Operators and namespaces for the tests of the whole.

One operator, of `manifests/default`, serves most tests: it takes every EtcdCluster there is. So
tests that bring operators of their own run before it is installed, those that look at what it left in the
audit log run last, and the chaos after them: an API server that has just started refuses what it allows
later.
"""

import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import lent
from tests.e2e.etcd_client import EtcdClient, etcd_client
from tests.e2e.installation import MANIFESTS, Installation, Plan, delete_crds, installed, kustomized
from tests.e2e.kube import create_namespace
from tests.e2e.subject import VERSION, Subject

LAST = ("test_records", "test_chaos")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of this folder in order; the others stay where they are."""
    places = [index for index, item in enumerate(items) if "e2e" in item.keywords]
    ours = sorted((items[index] for index in places), key=_turn)
    for index, item in zip(places, ours, strict=True):
        items[index] = item


def _turn(item: pytest.Item) -> int:
    if item.path.stem in LAST:
        return 2 + LAST.index(item.path.stem)
    return 1 if "operator" in getattr(item, "fixturenames", ()) else 0


@pytest.fixture(scope="session")
def fresh_namespace(cluster: Cluster) -> Iterator[Callable[[], str]]:
    """Makes namespaces. They are deleted with their test, and gone by the end of the session."""
    made: list[str] = []

    def make() -> str:
        name = f"test-{secrets.token_hex(4)}"
        create_namespace(cluster, name)
        made.append(name)
        return name

    yield make
    if made and lent():
        cluster.kubectl("delete", "namespace", "--ignore-not-found", "--timeout=90s", *made)


@pytest.fixture
def place(cluster: Cluster, fresh_namespace: Callable[[], str]) -> Iterator[str]:
    """A namespace of the test's own."""
    name = fresh_namespace()
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def client(cluster: Cluster, fresh_namespace: Callable[[], str]) -> Iterator[EtcdClient]:
    """A client of etcd, in a namespace that no operator has anything to do with."""
    with etcd_client(cluster, fresh_namespace(), VERSION) as found:
        yield found


@pytest.fixture(scope="session")
def operator(cluster: Cluster, operator_reference: str) -> Iterator[Installation]:
    """The operator of `manifests/default`."""
    plan = Plan(kustomized(MANIFESTS / "default"), "etcd-operator-system")
    with installed(cluster, plan, leave=not lent()) as (found,):
        yield found
    if lent():
        delete_crds(cluster)


@pytest.fixture
def subject(cluster: Cluster, operator: Installation, place: str) -> Subject:
    """An EtcdCluster that is not made yet, in a namespace of its own, for the operator to take."""
    return Subject(cluster, place)
