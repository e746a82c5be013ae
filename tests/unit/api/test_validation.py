"""The verdict as a whole: all faults at once, ratcheting, what is not built, and any JSON at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from app.api import unbuilt
from app.api.defaults import default
from app.api.kinds import rules_for
from app.api.validation import validate
from app.api.verdict import ALLOWED, Reason, Report, Verdict
from tests.unit.api.objects import (
    EXAMPLE,
    FULL,
    OLD,
    changed,
    claimed,
    cluster,
    static_tls,
    with_pod,
    without,
)
from tests.unit.api.strategies import anything, by_schema, json_values


def paths(verdict: Verdict) -> list[str]:
    return [fault.path for fault in verdict.faults]


def test_the_old_example_passes_as_it_is() -> None:
    verdict = validate(default(EXAMPLE))
    assert verdict.allowed
    assert any("untested" in warning for warning in verdict.warnings)


def test_all_that_this_version_honours_passes_without_a_warning() -> None:
    assert validate(FULL) == ALLOWED


def test_W34_every_fault_and_every_warning_at_once() -> None:
    obj = cluster(
        name="Bad",
        size=8,
        version="3.2.13",
        repository="a:b",
        pod={"labels": {"app": "x"}, "busyboxImage": "b"},
    )
    verdict = validate(obj)
    assert paths(verdict) == ["metadata.name", "spec.size", "spec.repository", "spec.pod.labels[app]"]
    assert len(verdict.warnings) == 3


def test_a_cause_is_one_of_the_api_servers() -> None:
    (fault,) = validate(cluster(size=8)).faults
    assert fault.cause() == {
        "reason": "FieldValueInvalid",
        "message": "Invalid value: 8: must be from 1 to 7; the nearest valid value is 7",
        "field": "spec.size",
    }


def test_W16_a_stored_object_with_faults_may_be_labelled() -> None:
    labelled = changed(OLD, "metadata.labels", {"a": "b"})
    assert validate(labelled, OLD) == ALLOWED


def test_W16_only_what_changed_is_denied() -> None:
    verdict = validate(changed(changed(OLD, "spec.size", 9), "spec.paused", True), OLD)
    assert set(paths(verdict)) == {"spec.size"}


def test_W16_pausing_a_cluster_with_faults_passes() -> None:
    assert validate(changed(OLD, "spec.paused", True), OLD) == ALLOWED


def test_W16_mending_one_fault_does_not_need_the_others_mended() -> None:
    mended = without(OLD, "spec.pod.labels")
    assert paths(validate(mended, OLD)) == ["spec.pod"]
    assert validate(mended, OLD).faults[0].message.startswith("changing it is not available")


def test_W16_a_fault_moved_in_its_list_is_not_a_new_one() -> None:
    bad = {"name": "ETCD_NAME", "value": "x"}
    stored = with_pod(etcdEnv=[{"name": "A"}, bad])
    assert paths(validate(with_pod(etcdEnv=[bad]), stored)) == ["spec.pod"]
    assert "spec.pod.etcdEnv[1].name" in paths(validate(stored, with_pod(etcdEnv=[{"name": "A"}])))


def test_W16_a_rule_on_two_fields_speaks_when_either_changes() -> None:
    def resources(request: str, limit: str) -> dict[str, Any]:
        return with_pod(resources={"requests": {"cpu": request}, "limits": {"cpu": limit}})

    assert "spec.pod.resources.requests[cpu]" in paths(validate(resources("2", "1500m"), resources("2", "1")))


def test_an_object_being_deleted_passes_whatever_it_says() -> None:
    stored = changed(OLD, "metadata.deletionTimestamp", "2030-01-01T00:00:00Z")
    assert validate(changed(stored, "spec.size", 99), stored) == ALLOWED
    assert validate(stored) == ALLOWED
    undead = changed(cluster(size=99), "metadata.deletionTimestamp", "2030-01-01T00:00:00Z")
    assert paths(validate(undead, cluster(size=3)))[0] == "spec.size"


@pytest.mark.parametrize("field", unbuilt.FIELDS, ids=lambda field: field.path)
def test_what_is_not_built_is_denied_by_its_name(field: unbuilt.UnbuiltField) -> None:
    value = {"object": {}, "array": [], "string": "x", "boolean": False, "integer": 0}
    kind = "object" if field.placeholder is None else field.placeholder["type"]
    obj = changed(cluster(size=3), field.path, value[kind])
    denied = [fault for fault in validate(obj).faults if fault.path == field.path]
    assert any("is not available in this version" in fault.message for fault in denied)
    assert validate(changed(cluster(size=3), field.path, None)).allowed or field.parent == "spec.TLS"


CHANGES = [
    (cluster(version="3.6.15"), cluster(version="3.6.16"), "spec.version", "3.6.15"),
    (cluster(repository="a/etcd"), cluster(repository="b/etcd"), "spec.repository", "a/etcd"),
    (cluster(repository="a/etcd"), cluster(), "spec.repository", "a/etcd"),
    (cluster(), cluster(pod={"labels": {"a": "b"}}), "spec.pod", None),
]


@pytest.mark.parametrize(("old", "new", "path", "nearest"), CHANGES)
def test_changes_that_are_not_built_are_denied(
    old: dict[str, Any], new: dict[str, Any], path: str, nearest: Any
) -> None:
    if path not in unbuilt.CHANGES:
        assert validate(new, old).faults == ()
        return
    (fault,) = validate(new, old).faults
    assert (fault.path, fault.reason, fault.nearest) == (path, Reason.FORBIDDEN, nearest)
    assert "is not available in this version" in fault.message


def test_podDisruptionBudget_may_change() -> None:
    assert validate(cluster(podDisruptionBudget=False), cluster(podDisruptionBudget=True)) == ALLOWED


def test_F2_a_volume_may_grow_and_nothing_else_of_its_claim_may_change() -> None:
    assert validate(claimed(resources={"requests": {"storage": "20Gi"}}), claimed()).faults == ()
    (shrunk,) = validate(claimed(resources={"requests": {"storage": "5Gi"}}), claimed()).faults
    assert (shrunk.reason, shrunk.nearest) == (Reason.FORBIDDEN, "10Gi")
    assert "must not shrink" in shrunk.message
    other = claimed(resources={"requests": {"storage": "20Gi"}, "limits": {"storage": "30Gi"}})
    assert [fault.path for fault in validate(other, claimed()).faults] == ["spec.pod"]


SAME = [
    (cluster(), cluster(pod={})),
    (cluster(pod=None), cluster(pod={})),
    (cluster(), cluster(repository="quay.io/coreos/etcd")),
    (cluster(version="3.6.16"), cluster(version="v3.6.16")),
    (cluster(size=3), cluster(size=3.0)),
    (cluster(size=3), cluster(size=3, paused=True)),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_what_means_the_same_is_no_change(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert validate(new, old).faults == ()


def test_two_clusters_do_not_claim_one_service() -> None:
    (fault,) = validate(
        cluster(name="a-client", size=3), neighbours={"a": "a-client", "b": "b-client"}
    ).faults
    assert fault.path == "metadata.name"
    assert "a-client" in fault.message
    assert not validate(cluster(name="a", size=3), neighbours={"a-client": "a-client-client"}).allowed
    assert validate(cluster(name="a", size=3), neighbours={"b": "b-client", "a-clients": "x"}).allowed


BACKUP = {
    "kind": "EtcdBackup",
    "metadata": {"name": "b"},
    "spec": {
        "etcdEndpoints": ["http://example-client:2379"],
        "storageType": "S3",
        "s3": {"path": "bucket/key", "awsSecret": "aws"},
    },
}
RESTORE = {
    "kind": "EtcdRestore",
    "metadata": {"name": "example"},
    "spec": {
        "etcdCluster": {"name": "example"},
        "backupStorageType": "GCS",
        "gcs": {"path": "bucket/a/b"},
    },
}


def of_kind(kind: str, new: Any, old: Any = None) -> Verdict:
    rules = rules_for(kind)
    assert rules is not None
    return rules.validate(new, old)


@pytest.mark.parametrize("obj", [BACKUP, RESTORE], ids=["backup", "restore"])
def test_kinds_that_nothing_reconciles_are_denied_with_words(obj: dict[str, Any]) -> None:
    (fault,) = of_kind(obj["kind"], obj).faults
    assert fault.path == "spec"
    assert fault.message == f"{obj['kind']} {unbuilt.NOT_AVAILABLE}; the object would have no effect"
    assert of_kind(obj["kind"], changed(obj, "metadata.finalizers", []), obj) == ALLOWED


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("spec.storageType", "FTP", "spec.storageType"),
        ("spec.storageType", "", "spec.storageType"),
        ("spec.storageType", None, "spec.storageType"),
        ("spec.storageType", ["S3"], "spec.storageType"),
        ("spec.s3", None, "spec.s3"),
        ("spec.s3", "bucket", "spec.s3"),
        ("spec.s3.path", "bucket", "spec.s3.path"),
        ("spec.s3.path", None, "spec.s3.path"),
        ("spec.s3.awsSecret", "", "spec.s3.awsSecret"),
        ("spec.s3.awsSecret", "A", "spec.s3.awsSecret"),
        ("spec.abs", {}, "spec.abs"),
        ("spec.etcdEndpoints", [], "spec.etcdEndpoints"),
        ("spec.etcdEndpoints", ["example:2379"], "spec.etcdEndpoints[0]"),
        ("spec.backupPolicy", {"maxBackups": -1}, "spec.backupPolicy.maxBackups"),
        ("spec.backupPolicy", {"backupIntervalInSecond": "1h"}, "spec.backupPolicy.backupIntervalInSecond"),
        ("spec.clientTLSSecret", 3, "spec.clientTLSSecret"),
    ],
)
def test_G6_a_bad_backup_is_denied_by_its_field(path: str, value: Any, fault: str) -> None:
    new = changed(BACKUP, path, value)
    assert fault in paths(of_kind("EtcdBackup", new))
    assert fault in paths(of_kind("EtcdBackup", new, BACKUP))
    assert of_kind("EtcdBackup", changed(new, "metadata.labels", {"a": "b"}), new) == ALLOWED


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("spec.etcdCluster.name", "other", "spec.etcdCluster.name"),
        ("spec.etcdCluster", None, "spec.etcdCluster.name"),
        ("spec.gcs", {}, "spec.gcs.path"),
        ("spec.backupStorageType", "gcs", "spec.backupStorageType"),
    ],
)
def test_G6_a_bad_restore_is_denied_by_its_field(path: str, value: Any, fault: str) -> None:
    assert fault in paths(of_kind("EtcdRestore", changed(RESTORE, path, value)))


def test_kinds_that_are_not_ours_have_no_rules() -> None:
    assert rules_for("Pod") is None
    assert rules_for("") is None


def test_G6_a_backup_needs_a_name_of_an_object() -> None:
    assert "metadata.name" in paths(of_kind("EtcdBackup", changed(BACKUP, "metadata.name", "A")))
    assert "metadata.name" not in paths(of_kind("EtcdBackup", changed(BACKUP, "metadata.name", "a.1-b")))


def sound(verdict: Verdict) -> None:
    """What every verdict holds, whatever the object was."""
    for fault in verdict.faults:
        assert fault.path or fault.message == "must be an object"
        assert fault.message
        json.dumps(fault.cause(), ensure_ascii=False).encode()
    assert all(len(warning) <= 120 for warning in verdict.warnings)


@given(anything)
def test_any_json_gets_a_verdict(obj: Any) -> None:
    sound(validate(obj))
    sound(validate(obj, OLD))
    sound(validate(FULL, obj))
    assert obj is None or not isinstance(obj, dict) or validate(obj, obj) == ALLOWED


@given(anything, anything)
def test_any_update_gets_a_verdict(new: Any, old: Any) -> None:
    sound(validate(new, old))
    sound(validate(default(new, old), old))


@given(by_schema("etcdclusters"), by_schema("etcdclusters"))
def test_anything_that_the_schema_names_gets_a_verdict(new: Any, old: Any) -> None:
    sound(validate(new))
    sound(validate(new, old))


@given(by_schema("etcdbackups") | json_values, by_schema("etcdrestores") | json_values)
def test_G6_any_backup_and_restore_gets_a_verdict(backup: Any, restore: Any) -> None:
    for kind, obj in (("EtcdBackup", backup), ("EtcdRestore", restore)):
        sound(of_kind(kind, obj))
        sound(of_kind(kind, obj, RESTORE))
        sound(of_kind(kind, BACKUP, obj))


@given(anything)
def test_W16_an_update_is_denied_for_nothing_that_the_stored_object_had(obj: Any) -> None:
    if isinstance(obj, dict) and isinstance(obj.get("spec"), dict):
        paused = changed(obj, "spec.paused", True)
        assert validate(paused, obj).faults == ()


def test_a_warning_is_never_longer_than_clients_show() -> None:
    report = Report()
    report.warn("x" * 500)
    assert [len(text) for text in report.warnings] == [120]


def test_tls_is_denied_on_an_update_too() -> None:
    assert "spec.TLS" in paths(validate(cluster(TLS=static_tls()), cluster()))
    stored = cluster(TLS=static_tls())
    assert validate(changed(stored, "spec.paused", True), stored) == ALLOWED


def test_volumes_do_not_shrink_through_the_whole_verdict_either() -> None:
    smaller = claimed(resources={"requests": {"storage": "1Gi"}})
    assert "spec.pod.persistentVolumeClaimSpec.resources.requests[storage]" in paths(
        validate(smaller, claimed())
    )


def test_retention_may_change_and_means_claims_only() -> None:
    kept = changed(claimed(), "spec.dataRetention", "Retain")
    assert validate(kept, claimed()) == ALLOWED
    assert validate(claimed(), kept) == ALLOWED
    said = validate(cluster(dataRetention="Retain")).warnings
    assert any(text.startswith("spec.dataRetention") for text in said)
