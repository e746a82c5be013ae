"""What the manifests say, read as they are: rights, webhooks, the Deployments, alerts, samples."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.api.base import GROUP
from app.api.validation import validate
from app.config import Scope, WebhookMode, load
from app.ops.metrics import Metrics

MANIFESTS = Path(__file__).parents[3] / "manifests"
Object = dict[str, Any]
ENVIRONMENT = {"MY_POD_NAMESPACE": "etcd-operator-system", "MY_POD_NAME": "etcd-operator-0"}


def objects(*files: str) -> list[Object]:
    return [one for file in files for one in yaml.safe_load_all((MANIFESTS / file).read_text())]


def rules(*files: str, kind: str = "") -> list[Object]:
    return [rule for one in objects(*files) if one["kind"] == kind for rule in one["rules"]]


ROLES = sorted(str(path.relative_to(MANIFESTS)) for path in MANIFESTS.rglob("*role*.yaml"))


@pytest.mark.parametrize("file", ROLES)
def test_no_right_is_a_wildcard(file: str) -> None:
    for rule in [rule for one in objects(file) for rule in one.get("rules", [])]:
        assert not [word for words in rule.values() for word in words if "*" in word]


def test_secrets_are_read_by_name_alone() -> None:
    for file in ROLES:
        for rule in [rule for one in objects(file) for rule in one.get("rules", [])]:
            if "secrets" in rule["resources"] and rule["verbs"] != ["create"]:
                assert rule["resourceNames"] == ["etcd-operator-webhook-ca"]


def test_the_walk_through_gives_the_rights_that_the_overlays_give() -> None:
    shipped = rules("rbac/clusters_role.yaml", "rbac/install/install_role.yaml", kind="ClusterRole")
    assert rules("walk-through/role.yaml", kind="ClusterRole") == shipped
    own = rules("rbac/own_namespace_role.yaml", kind="Role")
    assert rules("walk-through/own_namespace_role.yaml", kind="Role") == own


def test_the_installer_may_update_the_crds_that_there_are() -> None:
    names = {one["metadata"]["name"] for one in objects(*(f"crd/{name}.yaml" for name in _plurals()))}
    allowed = [
        set(rule["resourceNames"])
        for rule in rules("rbac/install/install_role.yaml", kind="ClusterRole")
        if "customresourcedefinitions" in rule["resources"] and "resourceNames" in rule
    ]
    assert allowed == [names]


def _plurals() -> list[str]:
    return [path.stem for path in (MANIFESTS / "crd").glob("etcd*.yaml")]


@pytest.mark.parametrize("file", ["webhook/mutating.yaml", "webhook/validating.yaml"])
def test_W13_webhooks_ask_for_our_kinds_alone(file: str) -> None:
    """An API server that asks for more may be stopped by it, its own Pods and Leases too."""
    (configuration,) = objects(file)
    for webhook in configuration["webhooks"]:
        for rule in webhook["rules"]:
            assert rule["apiGroups"] == [GROUP]
            assert set(rule["resources"]) - {"etcdclusters/scale"} == set(_plurals())
            assert set(rule["operations"]) == {"CREATE", "UPDATE"}
        assert webhook["sideEffects"] == "None"  # W21
        assert webhook["failurePolicy"] == "Fail"
        # W12: whatever the API server would fill in is said; the caBundle is the operator's to write.
        stated = {"matchPolicy", "timeoutSeconds", "namespaceSelector", "objectSelector", "rules"}
        assert stated <= webhook.keys()
        assert all("scope" in rule for rule in webhook["rules"])
        assert webhook["clientConfig"].keys() == {"service"}
        assert webhook["clientConfig"]["service"].keys() == {"name", "namespace", "path", "port"}


@pytest.mark.parametrize(
    ("overlay", "scope", "mode"),
    [
        ("", Scope.NAMESPACED, WebhookMode.MANAGED),
        ("default", Scope.ALL, WebhookMode.MANAGED),
        ("cluster-wide", Scope.CLUSTER_WIDE, WebhookMode.MANAGED),
        ("namespaced-minimal", Scope.NAMESPACED, WebhookMode.OFF),
    ],
)
def test_the_operator_is_started_as_the_overlay_says(overlay: str, scope: Scope, mode: WebhookMode) -> None:
    arguments: list[str] = []
    if overlay:
        (kustomization,) = objects(f"{overlay}/kustomization.yaml")
        arguments = [
            argument
            for patch in kustomization["patches"]
            for operation in yaml.safe_load(patch["patch"])
            if operation["path"].endswith("/args")
            for argument in operation["value"]
        ]
    config = load(arguments, ENVIRONMENT)
    assert (config.scope, config.webhook.mode) == (scope, mode)
    assert config.create_crd is (overlay != "namespaced-minimal")
    assert not config.warnings


@pytest.mark.parametrize("file", ["manager/manager.yaml", "deployment.yaml"])
def test_deployments_fit_the_operators_defaults(file: str) -> None:
    (deployment,) = objects(file)
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    config = load(container["command"][1:], ENVIRONMENT)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"metrics": config.listen_port, "webhook": config.webhook.port}
    assert {variable["name"] for variable in container["env"]} == ENVIRONMENT.keys()
    (service,) = objects("webhook/service.yaml")
    assert service["metadata"]["name"] == config.webhook.service
    # By number: an old Deployment names no ports.
    assert [port["targetPort"] for port in service["spec"]["ports"]] == [config.webhook.port]
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    lease = [
        rule["resourceNames"]
        for rule in rules("rbac/own_namespace_role.yaml", kind="Role")
        if "leases" in rule["resources"] and "resourceNames" in rule
    ]
    assert lease == [[config.lease.name]]


def test_the_two_deployments_run_the_operator_alike() -> None:
    manager, walked = objects("manager/manager.yaml", "deployment.yaml")
    assert (
        manager["spec"]["template"]["spec"]["containers"] == walked["spec"]["template"]["spec"]["containers"]
    )


@pytest.mark.parametrize("file", ["manager/manager.yaml", "deployment.yaml"])
def test_the_operator_fits_the_restricted_profile(file: str) -> None:
    (deployment,) = objects(file)
    spec = deployment["spec"]["template"]["spec"]
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for container in spec["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}


def test_W38_alerts_speak_of_metrics_that_there_are() -> None:
    known = set()
    for family in Metrics().registry.collect():
        known |= {family.name, f"{family.name}_total", f"{family.name}_bucket", f"{family.name}_count"}
    (rule,) = objects("prometheus/rules.yaml")
    alerts = [one for group in rule["spec"]["groups"] for one in group["rules"]]
    assert {"EtcdOperatorCertificateExpiring", "EtcdOperatorCAExpiring"} <= {one["alert"] for one in alerts}
    for alert in alerts:
        used = re.findall(r"\b([a-z]+_[a-z_]+)\b *(?:\{|\[| *-| *>|\))", alert["expr"])
        assert used, alert["alert"]
        assert set(used) <= known, alert["alert"]
        assert alert["annotations"].keys() == {"summary", "description"}


def test_certificates_alert_at_a_sixth_of_the_lives_that_are_the_defaults() -> None:
    config = load([], ENVIRONMENT)
    (rule,) = objects("prometheus/rules.yaml")
    by_name = {one["alert"]: one["expr"] for group in rule["spec"]["groups"] for one in group["rules"]}
    lives = {"EtcdOperatorCertificateExpiring": config.webhook.leaf_lifetime}
    lives["EtcdOperatorCAExpiring"] = config.webhook.ca_lifetime
    for name, life in lives.items():
        limit = re.search(r"< (\d+) \* 86400 / 6", by_name[name])
        assert limit
        assert int(limit[1]) * 86400 == life


@pytest.mark.parametrize("path", sorted((MANIFESTS / "samples").glob("*.yaml")), ids=lambda path: path.stem)
def test_samples_are_valid(path: Path) -> None:
    for sample in yaml.safe_load_all(path.read_text()):
        if sample["kind"] == "EtcdCluster":
            assert validate(sample).faults == ()


def test_the_example_is_where_the_walk_through_looks_for_it() -> None:
    name = "example-etcd-cluster.yaml"
    assert (MANIFESTS / name).read_text() == (MANIFESTS / "samples" / name).read_text()


def test_P20_nobody_execs_into_pods() -> None:
    """Exec streams hang and drop; etcd is asked over its own API."""
    for file in ROLES:
        for rule in [rule for one in objects(file) for rule in one.get("rules", [])]:
            assert not {"pods/exec", "pods/attach", "pods/portforward"} & set(rule["resources"])


def test_W27_the_webhooks_port_is_a_setting_and_let_in() -> None:
    assert load(["--webhook-port=10250"], ENVIRONMENT).webhook.port == 10250
    (policy,) = [one for one in objects("network-policy/operator.yaml") if one["kind"] == "NetworkPolicy"]
    ports = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    assert ports & {9443, "webhook"}
    assert "10250" in (MANIFESTS.parent / "docs" / "webhooks.md").read_text(encoding="utf-8")
