"""The test cluster in tests: brought up when the first test asks for it, taken down when the session ends.

A session that is killed leaves its clusters to the next one, which takes them down. While one works on
tests, $TEST_CLUSTER may name a cluster that is up (`python -m tests.cluster up --name …`): it is used and
left alone.
"""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.cluster import images, operator_image, preflight
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.cluster.processes import Process

EXISTING = "TEST_CLUSTER"
NODES = 3


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the collected tests need, before the first of them: its time limit is not for that."""
    if session.config.option.collectonly:
        return
    with contextlib.suppress(HarnessError):  # the fixture will say it again, where it is seen
        if _asked(session, "cluster"):
            preflight.check(NODES)
            _images(session)
        if _asked(session, "control_plane"):
            preflight.check(0)


def lent() -> bool:
    """Whether the cluster is somebody's, who goes on with it; a session's own goes with all that is in it."""
    return EXISTING in os.environ


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster with three nodes, that have the images of etcd, and the operator's if a test asks for it."""
    if name := os.environ.get(EXISTING):
        existing = Cluster(name)
        for archive in _images(request.session):
            existing.load_image(archive)
        yield existing
    else:
        yield from _during_session(f"pytest-{os.getpid()}", NODES, _images(request.session))


@pytest.fixture(scope="session")
def control_plane() -> Iterator[Cluster]:
    """An API server with its controllers, and no nodes."""
    yield from _during_session(f"pytest-{os.getpid()}-api", 0, ())


@pytest.fixture(scope="session")
def operator_reference(cluster: Cluster) -> str:
    """The name of the operator's image, as it is in the work tree, which the cluster's nodes have."""
    return operator_image.REFERENCE


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, in the cluster that it uses, or else in the control plane.

    After the test it is deleted, which takes Kubernetes at least 5 s; the next test needn't wait for that.
    """
    where: Cluster = request.getfixturevalue(
        "cluster" if "cluster" in request.fixturenames else "control_plane"
    )
    name = f"test-{secrets.token_hex(4)}"
    where.kubectl("create", "namespace", name)
    yield name
    where.kubectl("delete", "namespace", name, "--wait=false")


def _during_session(name: str, nodes: int, archives: Iterable[Path]) -> Iterator[Cluster]:
    Cluster.down_abandoned()
    mine = Cluster(name)
    try:
        mine.up(nodes, images=list(archives), owner=Process.of(os.getpid()))
    except HarnessError as error:
        pytest.fail(str(error), pytrace=False)
    try:
        yield mine
    finally:
        mine.down()


def _images(session: pytest.Session) -> list[Path]:
    """The archives that the session's tests need, the one that changes most often last."""
    archives = [images.ensure_etcd_image(version) for version in images.ETCD_VERSIONS]
    if _asked(session, "operator_reference"):
        archives.append(operator_image.operator_image())
    return archives


def _asked(session: pytest.Session, fixture: str) -> bool:
    return any(fixture in getattr(item, "fixturenames", ()) for item in session.items)
