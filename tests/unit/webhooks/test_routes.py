import json
from typing import Any

import pytest

from app.api.kinds import Rules
from app.api.verdict import Fault, Reason, Verdict
from tests.unit.webhooks.reviews import Object, body, cluster, patched
from webhooks.review import review
from webhooks.routes import MUTATE, VALIDATE, hooks, rules_of

HOOKS = hooks()


def ask(path: str, operation: str = "CREATE", **request: Any) -> Object:
    reply = review(body(operation, **request), HOOKS[path])
    assert reply.status == 200
    response: Object = json.loads(reply.body)["response"]
    return response


def mutated(obj: Object, **request: Any) -> Object:
    after: Object = patched(obj, ask(MUTATE, object=obj, **request))
    return after


def test_defaults_are_filled_on_create() -> None:
    spec = mutated(cluster())["spec"]
    assert spec["size"] == 3
    assert spec["version"]
    assert spec["repository"] == "quay.io/coreos/etcd"


@pytest.mark.parametrize("obj", [{"kind": "EtcdCluster"}, {"kind": "EtcdCluster", "spec": None}])
def test_missing_spec_is_created(obj: Object) -> None:
    assert mutated(obj)["spec"]["size"] == 3


@pytest.mark.parametrize("field", ["size", "version", "repository", "paused"])
@pytest.mark.parametrize("value", [0, False, "", {}, [], 1, "x", {"a": None}])
def test_W18_explicit_value_of_any_type_stays(field: str, value: object) -> None:
    after = mutated(cluster(**{field: value}))
    assert json.dumps(after["spec"][field]) == json.dumps(value)


@pytest.mark.parametrize("field", ["size", "version", "repository"])
def test_W18_null_is_filled_like_absent(field: str) -> None:
    assert mutated(cluster(**{field: None})) == mutated(cluster())


@pytest.mark.parametrize("spec", [0, "x", [], True])
def test_spec_of_another_type_is_left_to_the_schema(spec: object) -> None:
    assert "patch" not in ask(MUTATE, object={**cluster(), "spec": spec})


def test_unknown_keys_and_spellings_survive() -> None:
    given = cluster(
        version="v3.6.16",
        surprise={"a/b": {"~": 1.50}},
        pod={"resources": {"limits": {"cpu": 1, "memory": "1024Mi"}}},
    )
    after = mutated(given)
    assert after["spec"]["surprise"] == given["spec"]["surprise"]
    assert after["spec"]["version"] == "v3.6.16"
    assert json.dumps(after["spec"]["pod"]) == json.dumps(given["spec"]["pod"])


def test_W20_second_call_gives_no_patch() -> None:
    assert "patch" not in ask(MUTATE, object=mutated(cluster()))


def test_patch_and_its_type_come_together_or_not_at_all() -> None:
    assert ask(MUTATE)["patchType"] == "JSONPatch"
    unpatched = ask(MUTATE, object=mutated(cluster()))
    assert "patchType" not in unpatched
    judged = ask(VALIDATE, object=cluster(size=8))
    assert not {"patch", "patchType"} & set(judged)


def test_W33_denial_is_422_with_a_cause_for_each_field() -> None:
    response = ask(VALIDATE, object=cluster(size=8, version="3.0.1"))
    assert response["allowed"] is False
    status = response["status"]
    assert status["code"] == 422
    assert status["reason"] == "Invalid"
    assert status["status"] == "Failure"
    assert status["details"]["kind"] == "EtcdCluster"
    assert status["details"]["group"] == "etcd.database.coreos.com"
    assert status["details"]["name"] == "example"
    causes = {cause["field"]: cause for cause in status["details"]["causes"]}
    assert set(causes) == {"spec.size", "spec.version"}
    size = causes["spec.size"]
    assert size["reason"] == "FieldValueInvalid"
    assert "8" in size["message"]
    assert "nearest" in size["message"]
    assert size["message"] in status["message"]


def test_generated_name_stands_in_for_the_name() -> None:
    obj = {**cluster(size=8), "metadata": {"generateName": "example-"}}
    assert ask(VALIDATE, object=obj, name="")["status"]["details"]["name"] == "example-"


def test_C11_scaling_goes_through_the_rules_of_the_size() -> None:
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a"},
        "spec": {"replicas": 9},
    }
    asked = {
        "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "subResource": "scale",
        "oldObject": {**scale, "spec": {"replicas": 3}},
    }
    denied = ask(VALIDATE, "UPDATE", object=scale, **asked)
    (cause,) = denied["status"]["details"]["causes"]
    assert (cause["field"], denied["allowed"]) == ("spec.replicas", False)
    assert "the nearest valid value is 7" in cause["message"]
    assert ask(VALIDATE, "UPDATE", object={**scale, "spec": {"replicas": 5}}, **asked)["allowed"] is True
    assert "patch" not in ask(MUTATE, "UPDATE", object=scale, **asked)


def test_a_cluster_that_would_share_a_service_with_its_neighbour_is_denied() -> None:
    hook = hooks(rules_of(lambda namespace: {"a": "a-client"} if namespace == "ns" else {}))[VALIDATE]
    claimant = {**cluster(size=3), "metadata": {"name": "a-client"}}
    for namespace, allowed in (("ns", False), ("other", True)):
        reply = review(body(object=claimant, namespace=namespace), hook)
        assert json.loads(reply.body)["response"]["allowed"] is allowed


def test_W34_warnings_come_with_denials_too() -> None:
    response = ask(VALIDATE, object=cluster(size=2, version="3.0.1"))
    assert response["allowed"] is False
    assert response["warnings"]


def test_warnings_are_short_single_lines() -> None:
    told = ("a" * 500, "two\nlines\r\x00\u2028end")
    rules = Rules("EtcdCluster", "etcdclusters", lambda obj, _old: obj, lambda _new, _old: Verdict((), told))
    reply = review(body(), hooks(lambda _kind: rules)[VALIDATE])
    warnings = json.loads(reply.body)["response"]["warnings"]
    assert all(len(warning) <= 120 and warning.isprintable() for warning in warnings)


def test_W21_dry_run_gets_the_same_answer() -> None:
    for path in (MUTATE, VALIDATE):
        for obj in (cluster(), cluster(size=8)):
            assert ask(path, object=obj, dryRun=True) == ask(path, object=obj, dryRun=False)


DELETING = {**cluster(size=8), "metadata": {"name": "example", "deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
def test_W39_object_being_deleted_passes_untouched(path: str) -> None:
    response = ask(path, "UPDATE", object=cluster(size=9), oldObject=DELETING)
    assert response == {"uid": response["uid"], "allowed": True}


@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
@pytest.mark.parametrize(
    "request_",
    [
        {"kind": {"group": "", "version": "v1", "kind": "Pod"}},
        {"kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}, "subResource": "scale"},
        {"kind": {"group": "etcd.database.coreos.com", "version": "v1beta2", "kind": "Other"}},
        {"subResource": "status"},
    ],
)
def test_W13_what_is_not_ours_to_judge_is_let_through(path: str, request_: Object) -> None:
    response = ask(path, object=cluster(size=8), **request_)
    assert response == {"uid": response["uid"], "allowed": True}


@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
def test_deletion_is_nobodys_business(path: str) -> None:
    assert ask(path, "DELETE", object=None, oldObject=cluster(size=8))["allowed"]


def test_W16_stored_fault_does_not_deny_another_change() -> None:
    old = cluster(size=8)
    labelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert ask(VALIDATE, "UPDATE", object=labelled, oldObject=old)["allowed"]


def test_W35_broken_rule_is_a_fault_of_ours() -> None:
    def broken(_new: Any, _old: Any) -> Verdict:
        raise ZeroDivisionError

    rules = Rules("EtcdCluster", "etcdclusters", lambda _obj, _old: {}, broken)
    for path in (MUTATE, VALIDATE):
        assert review(body(), hooks(lambda _kind: rules)[path]).status == 500


def test_many_faults_are_told_at_once() -> None:
    faults = tuple(Fault(f"spec.f{n}", Reason.INVALID, n, "must be nice") for n in range(50))
    rules = Rules("EtcdCluster", "etcdclusters", lambda obj, _old: obj, lambda _new, _old: Verdict(faults))
    reply = review(body(), hooks(lambda _kind: rules)[VALIDATE])
    assert len(json.loads(reply.body)["response"]["status"]["details"]["causes"]) == 50
