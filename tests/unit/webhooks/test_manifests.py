"""The shipped webhook configurations, as a linter sees them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from webhooks.routes import MUTATE, VALIDATE

FOLDER = Path(__file__).parents[3] / "manifests" / "webhook"
FILES = ("mutating.yaml", "validating.yaml")

Object = dict[str, Any]


@pytest.fixture(params=FILES)
def configuration(request: pytest.FixtureRequest) -> Object:
    loaded: Object = yaml.safe_load((FOLDER / request.param).read_text())
    return loaded


@pytest.fixture
def webhook(configuration: Object) -> Object:
    (only,) = configuration["webhooks"]
    found: Object = only
    return found


def test_W13_rules_name_our_group_only_and_nothing_that_the_cluster_lives_on(webhook: Object) -> None:
    for rule in webhook["rules"]:
        assert rule["apiGroups"] == ["etcd.database.coreos.com"]
        named = [*rule["apiVersions"], *rule["resources"], *rule["operations"], *rule["apiGroups"]]
        assert not any("*" in name for name in named)
        assert {one for one in rule["resources"] if "/" in one} <= {"etcdclusters/scale"}


def test_W28_deletions_are_never_asked_about(webhook: Object) -> None:
    for rule in webhook["rules"]:
        assert set(rule["operations"]) == {"CREATE", "UPDATE"}


def test_W12_every_default_of_the_server_is_stated(configuration: Object, webhook: Object) -> None:
    stated = {
        "name",
        "admissionReviewVersions",
        "clientConfig",
        "rules",
        "failurePolicy",
        "matchPolicy",
        "sideEffects",
        "timeoutSeconds",
        "namespaceSelector",
        "objectSelector",
        "matchConditions",
    }
    if configuration["kind"].startswith("Mutating"):
        stated.add("reinvocationPolicy")
    assert set(webhook) == stated
    assert set(webhook["clientConfig"]["service"]) == {"name", "namespace", "path", "port"}
    assert all("scope" in rule for rule in webhook["rules"])


def test_W11_no_bundle_ships_not_even_a_placeholder(webhook: Object) -> None:
    assert "caBundle" not in webhook["clientConfig"]


def test_W21_webhooks_declare_no_side_effects_so_that_dry_run_works(webhook: Object) -> None:
    assert webhook["sideEffects"] == "None"


def test_failing_webhook_fails_the_request(webhook: Object) -> None:
    assert webhook["failurePolicy"] == "Fail"


def test_W39_objects_being_deleted_are_skipped(webhook: Object) -> None:
    (condition,) = webhook["matchConditions"]
    assert "oldObject.metadata.deletionTimestamp" in condition["expression"]


def test_paths_are_those_of_the_server(configuration: Object, webhook: Object) -> None:
    mutating = configuration["kind"].startswith("Mutating")
    assert webhook["clientConfig"]["service"]["path"] == (MUTATE if mutating else VALIDATE)


def test_service_reaches_the_operators_pods() -> None:
    service = yaml.safe_load((FOLDER / "service.yaml").read_text())
    assert service["spec"]["selector"] == {"name": "etcd-operator"}
    (port,) = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (443, 9443)
