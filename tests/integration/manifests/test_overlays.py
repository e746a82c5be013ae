"""The overlays on a real API server: no warnings, no drift, and no two of them in each other's way."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from app.config import WebhookMode, load
from tests.cluster.cluster import Cluster
from tests.e2e.installation import CRDS, MANIFESTS, kustomized, overlay_for
from tests.e2e.kube import Object
from tests.integration.manifests.overlays import differences, live

pytestmark = pytest.mark.integration

OVERLAYS = ("default", "cluster-wide", "namespaced", "namespaced-minimal")
FOREIGN = ("monitoring.coreos.com",)
"""Groups that an API server doesn't have by itself."""


@pytest.fixture
def applied(control_plane: Cluster) -> Iterator[Callable[[list[Object]], None]]:
    """Applies objects; all are gone afterwards."""
    texts: list[str] = []

    def apply(objects: list[Object]) -> None:
        texts.append(yaml.safe_dump_all(objects))
        control_plane.kubectl("apply", "--server-side", "--warnings-as-errors", "-f-", text=texts[-1])

    yield apply
    for text in reversed(texts):
        control_plane.kubectl("delete", "--ignore-not-found", "-f-", text=text)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_W12_an_overlay_applied_again_changes_nothing(
    control_plane: Cluster, applied: Callable[[list[Object]], None], overlay: str
) -> None:
    objects = kustomized(MANIFESTS / overlay)
    applied(objects)
    before = live(control_plane, objects)
    # To the letter: a tool that compares the two sees no drift.
    assert [text for pair in zip(objects, before, strict=True) for text in differences(*pair)] == []

    control_plane.kubectl("apply", "--server-side", "-f-", text=yaml.safe_dump_all(objects))
    after = live(control_plane, objects)
    assert [unwritten(one) for one in after] == [unwritten(one) for one in before]


def unwritten(found: Object) -> Object:
    """An object as far as only its author writes it: what has a controller gets a status meanwhile."""
    kept = {key: value for key, value in found.items() if key != "status"}
    dropped = {"managedFields"} | ({"resourceVersion", "annotations"} if "status" in found else set())
    return {**kept, "metadata": {k: v for k, v in found["metadata"].items() if k not in dropped}}


def test_client_side_apply_does_too(control_plane: Cluster, applied: Callable[[list[Object]], None]) -> None:
    objects = kustomized(MANIFESTS / "cluster-wide")
    text = yaml.safe_dump_all(objects)
    applied([one for one in objects if one["kind"] == "Namespace"])
    try:
        control_plane.kubectl("apply", "--warnings-as-errors", "-f-", text=text)
        again = control_plane.kubectl("apply", "--warnings-as-errors", "-f-", text=text).splitlines()
        # kubectl always sends the selector of this kind, and says so although nothing comes of it.
        changed = [line for line in again if not line.endswith(" unchanged")]
        assert changed == ["poddisruptionbudget.policy/etcd-operator configured"]
        assert control_plane.kubectl("diff", "-f-", text=text) == ""
    finally:
        control_plane.kubectl("delete", "--ignore-not-found", "-f-", text=text)


def test_no_overlay_takes_the_crds_along_when_it_is_deleted() -> None:
    """With them would go every cluster of everyone."""
    for overlay in OVERLAYS:
        assert [
            one for one in kustomized(MANIFESTS / overlay) if one["kind"] == "CustomResourceDefinition"
        ] == []


def test_a_minimal_operator_has_nothing_outside_its_namespace() -> None:
    objects = kustomized(MANIFESTS / "namespaced-minimal")
    assert {one["metadata"].get("namespace") for one in objects} == {"default"}
    assert {one["kind"] for one in objects if one["kind"].endswith("Role")} == {"Role"}


def test_operators_of_two_namespaces_and_a_cluster_wide_one_share_no_object(tmp_path: Path) -> None:
    def identities(objects: list[Object]) -> set[tuple[str, str, str]]:
        return {
            (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]) for one in objects
        }

    a, b = (
        identities(kustomized(overlay_for("namespaced", name, tmp_path / name)))
        for name in ("team-a", "my-team")
    )
    wide = identities(kustomized(MANIFESTS / "cluster-wide"))
    assert not a & b
    assert not (a | b) & wide
    assert ("ValidatingWebhookConfiguration", "", "etcd-operator-my-team") in b


def test_a_namespaced_operator_is_all_of_one_namespace(tmp_path: Path) -> None:
    objects = kustomized(overlay_for("namespaced", "my-team", tmp_path))
    text = yaml.safe_dump_all(objects)
    assert "NAMESPACE" not in text.replace("MY_POD_NAMESPACE", "")
    assert "etcd-operator-system" not in text
    assert "default" not in text.replace("default-container", "").replace("RuntimeDefault", "")
    configurations = [one for one in objects if one["kind"].endswith("WebhookConfiguration")]
    assert len(configurations) == 2
    for one in configurations:
        (webhook,) = one["webhooks"]
        assert webhook["clientConfig"]["service"]["namespace"] == "my-team"
        assert webhook["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "my-team"}}
    names = [
        rule.get("resourceNames") for one in objects if one["kind"] == "ClusterRole" for rule in one["rules"]
    ]
    assert ["etcd-operator-my-team"] in names
    assert "my-team" not in text.replace("namespace: my-team", "").replace("-my-team", "").replace(
        "metadata.name: my-team", ""
    )


def test_what_can_be_added_is_accepted_or_needs_another_operators_kinds(
    control_plane: Cluster, applied: Callable[[list[Object]], None]
) -> None:
    applied([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}}])
    policies = kustomized(MANIFESTS / "network-policy")
    applied(policies)
    assert differences(policies, live(control_plane, policies)) == []
    applied(kustomized(MANIFESTS / "argo-cd"))
    groups = {one["apiVersion"].partition("/")[0] for one in kustomized(MANIFESTS / "prometheus")}
    assert groups == set(FOREIGN)


def test_H14_the_crds_are_structural(control_plane: Cluster, applied: Callable[[list[Object]], None]) -> None:
    """And they pass client-side apply as well: its annotation has a limit."""
    folder = str(MANIFESTS / "crd")
    try:
        control_plane.kubectl("apply", "--warnings-as-errors", "-k", folder)
        control_plane.kubectl("wait", "--for=condition=Established", "crd", *CRDS, "--timeout=60s")
        again = control_plane.kubectl("apply", "--warnings-as-errors", "-k", folder).splitlines()
        assert [line for line in again if not line.endswith(" unchanged")] == []
        for crd in live(control_plane, kustomized(MANIFESTS / "crd")):
            assert "NonStructuralSchema" not in {one["type"] for one in crd["status"]["conditions"]}
        columns = control_plane.kubectl("explain", "etcdclusters.spec.size")
        assert "size" in columns
    finally:
        control_plane.kubectl("delete", "-k", folder, "--ignore-not-found")


def test_cert_manager_can_take_the_webhooks_certificate_over(tmp_path: Path) -> None:
    overlay_for("namespaced", "my-team", tmp_path)
    mine = tmp_path / "manifests" / "mine"
    mine.mkdir()
    kustomization = {"resources": ["../namespaced"], "components": ["../webhook/cert-manager"]}
    (mine / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    objects = kustomized(mine)
    (certificate,) = [one for one in objects if one["kind"] == "Certificate"]
    assert certificate["metadata"]["namespace"] == "my-team"
    assert certificate["spec"]["dnsNames"] == [
        "etcd-operator-webhook.my-team.svc",
        "etcd-operator-webhook.my-team.svc.cluster.local",
    ]
    annotations = [
        one["metadata"]["annotations"] for one in objects if one["kind"].endswith("WebhookConfiguration")
    ]
    assert annotations == [{"cert-manager.io/inject-ca-from": "my-team/etcd-operator-webhook"}] * 2
    (deployment,) = [one for one in objects if one["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    environment = {"MY_POD_NAMESPACE": "my-team", "MY_POD_NAME": "x"}
    webhook = load(container["command"][1:], environment).webhook
    assert webhook.mode is WebhookMode.EXTERNAL
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == [str(webhook.cert_dir)]
    (volume,) = deployment["spec"]["template"]["spec"]["volumes"]
    assert volume["secret"]["secretName"] == certificate["spec"]["secretName"]


def test_the_walk_through_is_rendered_without_a_cluster() -> None:
    done = subprocess.run(["bash", "-n", str(MANIFESTS / "create_role.sh")], check=False)
    assert done.returncode == 0
    objects = kustomized(MANIFESTS / "walk-through")
    assert {one["kind"] for one in objects} == {
        "ClusterRole",
        "ClusterRoleBinding",
        "MutatingWebhookConfiguration",
        "Role",
        "RoleBinding",
        "Service",
        "ValidatingWebhookConfiguration",
    }
