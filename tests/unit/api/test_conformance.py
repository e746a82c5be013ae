"""The schema as the API server goes by it, where null is not what one expects."""

from __future__ import annotations

from app.api.conformance import check_schema
from tests.unit.api.objects import changed, cluster, with_pod


def test_null_is_dropped_and_so_absent() -> None:
    assert not check_schema(cluster(size=3, service=None, pod={"labels": {"a": None}}), "etcdclusters").faults


def test_null_is_missing_where_something_is_required() -> None:
    (fault,) = check_schema(with_pod(etcdEnv=[{"name": None}]), "etcdclusters").faults
    assert fault.path == "spec.pod.etcdEnv[0].name"


def test_null_in_a_list_stays_and_is_wrong() -> None:
    (fault,) = check_schema(changed(cluster(), "spec.pod.tolerations", [None]), "etcdclusters").faults
    assert fault.path == "spec.pod.tolerations[0]"
