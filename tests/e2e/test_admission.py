"""What the real API server lets through, fills in and denies, through the operator's webhooks and the CRD."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from app.api import unbuilt
from app.api.defaults import CREATED
from tests.cluster.cluster import Cluster
from tests.e2e import kube
from tests.e2e.installation import Installation
from tests.e2e.kube import refusal
from tests.e2e.subject import CLAIM, VERSION, Subject, manifest

pytestmark = pytest.mark.e2e

LONGEST = 52


@pytest.fixture(scope="module")
def where(cluster: Cluster, operator: Installation, fresh_namespace: Callable[[], str]) -> str:
    """A namespace for what is mostly never stored."""
    return fresh_namespace()


@pytest.fixture(scope="module")
def stored(cluster: Cluster, where: str) -> Subject:
    """A cluster that exists, paused so that nothing comes of it."""
    subject = Subject(cluster, where, "stored")
    subject.apply(size=3, version="3.6.16", paused=True)
    return subject


def denial(cluster: Cluster, namespace: str, name: str = "bad", **spec: Any) -> str:
    wrong = manifest(name, **spec)
    return refusal(lambda: kube.apply(cluster, namespace, wrong, options=("--dry-run=server",)))


BAD = [
    ("spec.size", "1", {"size": 0}),
    ("spec.size", "7", {"size": 8}),
    ("spec.size", "1", {"size": -1}),
    ("spec.version", "3.6.16", {"version": "latest"}),
    ("spec.version", "3.2", {"version": "3.1.0"}),
    ("spec.pod.labels", "etcd_cluster", {"pod": {"labels": {"etcd_cluster": "mine"}}}),
    ("spec.pod.labels", "app", {"pod": {"labels": {"app": "mine"}}}),
    ("spec.pod.annotations", "etcd.version", {"pod": {"annotations": {"etcd.version": "3"}}}),
    ("spec.pod.etcdEnv", "ETCD_NAME", {"pod": {"etcdEnv": [{"name": "ETCD_NAME", "value": "x"}]}}),
    (
        "spec.pod.persistentVolumeClaimSpec",
        "ReadWrite",
        {"pod": {"persistentVolumeClaimSpec": {**CLAIM, "accessModes": ["ReadWriteMany"]}}},
    ),
]


@pytest.mark.parametrize(("field", "words", "spec"), BAD, ids=[f"{bad[0]}-{bad[2]}"[:60] for bad in BAD])
def test_a_bad_cluster_is_denied_by_name_with_what_would_do(
    cluster: Cluster, where: str, field: str, words: str, spec: dict[str, Any]
) -> None:
    said = denial(cluster, where, **spec)
    assert field in said
    assert words in said


UNBUILT = [
    field.path for field in unbuilt.FIELDS if field.placeholder and field.placeholder["type"] == "object"
]


def at(path: str, value: Any) -> dict[str, Any]:
    """A spec with one field."""
    for name in reversed(path.split(".")[1:]):
        value = {name: value}
    found: dict[str, Any] = value
    return found


@pytest.mark.parametrize("path", UNBUILT)
def test_what_is_not_built_is_denied_on_create_and_on_update(
    cluster: Cluster, where: str, stored: Subject, path: str
) -> None:
    spec = at(path, {})
    created, changed = denial(cluster, where, **spec), refusal(lambda: stored.patch(**spec))
    assert f"{path}: " in created
    assert "is not available in this version of the operator" in created
    assert f"{path.rpartition('.')[0]}" in changed
    assert re.search("is not available in this version of the operator|cannot be switched", changed)


CHANGED = {
    "spec.version": "3.6.15",
    "spec.repository": "example.com/etcd",
    "spec.pod": {"resources": {"limits": {"memory": "1Gi"}}},
}


@pytest.mark.parametrize("path", sorted(CHANGED.keys() & set(unbuilt.CHANGES)))
def test_D5_a_change_that_nothing_would_carry_out_is_denied(stored: Subject, path: str) -> None:
    said = refusal(lambda: stored.patch(**at(path, CHANGED[path])))
    assert path in said
    assert "is not available in this version of the operator" in said


def test_all_faults_are_told_at_once(cluster: Cluster, where: str) -> None:
    said = denial(
        cluster, where, version="nonsense", pod={"labels": {"app": "x"}, "priorityClassName": "High"}
    )
    assert all(field in said for field in ("spec.version", "spec.pod.labels", "spec.pod.priorityClassName"))


def test_H6_a_name_that_is_too_long_is_denied_with_the_limit(cluster: Cluster, where: str) -> None:
    said = denial(cluster, where, "x" * (LONGEST + 1), size=3)
    assert "metadata.name" in said
    assert str(LONGEST) in said
    fits = manifest("x" * LONGEST, size=3)
    assert kube.apply(cluster, where, fits, options=("--dry-run=server",))


def test_a_backup_is_denied_as_nothing_would_make_it(cluster: Cluster, where: str) -> None:
    backup = manifest("backup", etcdEndpoints=["http://x:2379"], storageType="S3") | {"kind": "EtcdBackup"}
    said = refusal(lambda: kube.apply(cluster, where, backup, options=("--dry-run=server",)))
    assert "EtcdBackup is not available in this version of the operator" in said


def test_defaults_are_filled_where_nothing_is_said(cluster: Cluster, where: str) -> None:
    subject = Subject(cluster, where, "bare")
    kube.apply(cluster, where, manifest("bare", paused=True))
    spec = subject.get()["spec"]
    assert spec == {**CREATED, "paused": True}
    assert (spec["size"], spec["repository"], spec["version"]) == (3, "quay.io/coreos/etcd", VERSION)
    # Absent on update means what it was, whoever owned the field.
    subject.patch(size=None, version=None)
    assert subject.get()["spec"] == spec


def test_D10_the_same_again_writes_nothing(stored: Subject) -> None:
    kube.eventually(lambda: stored.condition("Ready"), what="the first status")
    before = stored.get()["metadata"]["resourceVersion"]
    stored.apply(size=3, version="3.6.16", paused=True)
    assert stored.get()["metadata"]["resourceVersion"] == before


def test_the_old_example_is_let_through_with_a_warning(cluster: Cluster, where: str) -> None:
    old = manifest("old", size=3, version="3.2.13")
    assert kube.apply(cluster, where, old, options=("--dry-run=server",))
    said = refusal(
        lambda: kube.apply(cluster, where, old, options=("--dry-run=server", "--warnings-as-errors"))
    )
    assert re.search(r"spec\.version: .*3\.2", said)


def test_even_sizes_are_let_through_with_a_warning(cluster: Cluster, where: str) -> None:
    options = ("--dry-run=server", "--warnings-as-errors")
    said = refusal(lambda: kube.apply(cluster, where, manifest("even", size=4), options=options))
    assert "spec.size" in said
    assert "3" in said
    assert "5" in said


def test_H14_unknown_fields_are_refused_or_dropped(cluster: Cluster, where: str) -> None:
    typo = manifest("typo", siez=3, paused=True)
    assert "siez" in refusal(lambda: kube.apply(cluster, where, typo))
    cluster.kubectl("create", "-n", where, "--validate=false", "-f-", text=json.dumps(typo))
    assert "siez" not in Subject(cluster, where, "typo").get()["spec"]
