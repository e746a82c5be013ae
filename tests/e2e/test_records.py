"""What the operator left behind in the records of the API server, after everything that was asked of it."""

import pytest

from tests.cluster import audit
from tests.cluster.cluster import Cluster
from tests.e2e.installation import CRDS, Installation, crd

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def requests(operator: Installation) -> list[audit.Event]:
    """What the operator has asked of the API server so far."""
    found = operator.requests()
    assert found
    return found


def test_H12_the_shipped_rights_were_enough(operator: Installation) -> None:
    assert operator.refused() == set()


def test_W30_no_secrets_but_the_operators_own_are_read(requests: list[audit.Event]) -> None:
    """Others' Secrets, however many there are, cost no memory: they are neither listed nor watched."""
    secrets = [event for event in requests if event.object_ref.resource == "secrets"]
    assert secrets
    for event in secrets:
        by_name = "fieldSelector=metadata.name%3Detcd-operator-webhook-ca" in event.request_uri
        assert by_name or event.object_ref.name == "etcd-operator-webhook-ca" or event.verb == "create"


def test_nothing_deprecated_was_used(requests: list[audit.Event]) -> None:
    deprecated = {event.request_uri.partition("?")[0] for event in requests if event.deprecated}
    # The old operator's lock is an Endpoints object; it is read while members of it wait to be adopted.
    assert {path for path in deprecated if not path.endswith("/endpoints/etcd-operator")} == set()


def test_no_request_was_malformed(requests: list[audit.Event]) -> None:
    refused = {
        (event.verb, event.request_uri, event.code) for event in requests if event.code in {400, 405, 422}
    }
    assert refused == set()


def test_H14_the_operators_own_crds_are_structural_and_established(
    cluster: Cluster, operator: Installation
) -> None:
    for name in CRDS:
        conditions = {one["type"]: one["status"] for one in crd(cluster, name)["status"]["conditions"]}
        assert "NonStructuralSchema" not in conditions
        assert conditions["Established"] == "True"
