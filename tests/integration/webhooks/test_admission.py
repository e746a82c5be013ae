"""What the API server makes of the webhooks' answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.kube.api import Api
from app.kube.errors import Invalid, KubeError, ServerError
from tests.integration.webhooks.kubectl import Kubectl, KubectlError
from tests.integration.webhooks.stack import ETCD_CLUSTERS, Stack, etcd_cluster

pytestmark = pytest.mark.integration


async def create(stack: Stack, name: str = "one", **spec: Any) -> dict[str, Any]:
    created = await stack.api.create(ETCD_CLUSTERS, etcd_cluster(name, stack.namespace, **spec))
    return created.spec


async def test_defaults_are_filled_and_stored(stack: Stack) -> None:
    spec = await create(stack)
    assert spec["size"] == 3
    assert spec["version"]
    stored = await stack.api.get(ETCD_CLUSTERS, stack.namespace, "one")
    assert stored.spec == spec


async def test_W33_denial_carries_code_reason_and_causes(stack: Stack) -> None:
    with pytest.raises(Invalid) as denied:
        await create(stack, version="3.0.1", pod={"labels": {"app": "mine"}})
    status = denied.value.status
    assert status is not None
    assert status.code == 422
    assert status.reason == "Invalid"
    assert status.details is not None
    assert {cause.field for cause in status.details.causes or ()} == {"spec.version", "spec.pod.labels[app]"}


async def test_kubectl_prints_a_line_for_each_fault_and_the_warnings_with_a_denial(
    stack: Stack, kubectl: Kubectl
) -> None:
    bad = etcd_cluster("two", stack.namespace, size=2, version="3.0.1", pod={"labels": {"app": "mine"}})
    with pytest.raises(KubectlError) as failed:
        await kubectl("create", "-f", "-", stdin=json.dumps(bad))
    said = str(failed.value)
    assert "* spec.version: Invalid value" in said
    assert "* spec.pod.labels[app]: Forbidden" in said
    assert "Warning: " in said  # W34: a denial does not swallow them


async def test_W21_dry_run_is_answered_alike_and_stores_nothing(stack: Stack, kubectl: Kubectl) -> None:
    good = etcd_cluster("dry", stack.namespace)
    told = await kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(good))
    assert json.loads(told)["spec"]["size"] == 3
    assert await stack.api.list(ETCD_CLUSTERS, stack.namespace) == []
    bad = etcd_cluster("dry", stack.namespace, version="3.0.1")
    with pytest.raises(Invalid):
        await stack.api.create(ETCD_CLUSTERS, bad, dry_run=True)


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
async def test_W20_applying_again_changes_nothing(
    stack: Stack, kubectl: Kubectl, flags: tuple[str, ...]
) -> None:
    manifest = json.dumps(etcd_cluster("again", stack.namespace, size=3))
    await kubectl("apply", *flags, "-f", "-", stdin=manifest)
    first = await stack.api.get(ETCD_CLUSTERS, stack.namespace, "again")
    await kubectl("apply", *flags, "-f", "-", stdin=manifest)
    second = await stack.api.get(ETCD_CLUSTERS, stack.namespace, "again")
    assert second.metadata.resource_version == first.metadata.resource_version
    await kubectl("diff", *flags, "-f", "-", stdin=manifest)  # fails if there is any


def _edited(kind: str) -> str:
    return f"sed -i 's/type: ClusterIP/type: {kind}/'"


def _left(folder: Path) -> str:
    """What kubectl left there of an edit that was denied, with the reasons as comments: a copy or several."""
    return "".join(copy.read_text() for copy in folder.glob("kubectl-edit-*"))


def _served(stack: Stack, kind: str) -> str:
    return json.dumps(etcd_cluster("one", stack.namespace, service={"type": kind}))


WAYS: dict[str, tuple[str, ...]] = {
    "apply": ("apply", "-f", "-"),
    "apply-server-side": ("apply", "--server-side", "--force-conflicts", "-f", "-"),
    "edit": ("edit", "etcdcluster/one"),
    "patch": ("patch", "etcdcluster/one", "--type=merge"),
    "replace": ("replace", "-f", "-"),
}


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_to_change_an_object_is_judged(
    stack: Stack, kubectl: Kubectl, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where edit leaves what could not be saved, and why

    async def change(kind: str, *flags: str) -> None:
        given = {
            "edit": {"editor": _edited(kind)},
            "patch": {},
        }.get(way, {"stdin": _served(stack, kind)})
        patch = (f'-p={{"spec":{{"service":{{"type":"{kind}"}}}}}}',) if way == "patch" else ()
        await kubectl(*WAYS[way], f"--namespace={stack.namespace}", *patch, *flags, **given)

    async def stored() -> str:
        found = await stack.api.get(ETCD_CLUSTERS, stack.namespace, "one")
        return str(found.spec["service"]["type"])

    await kubectl("apply", "-f", "-", stdin=_served(stack, "ClusterIP"))
    with pytest.raises(KubectlError) as denied:
        await change("ExternalName")
    told = _left(tmp_path) if way == "edit" else str(denied.value)
    assert "spec.service.type: Unsupported value" in told
    if way != "edit":  # it has no dry run
        with pytest.raises(KubectlError) as denied:
            await change("ExternalName", "--dry-run=server")
        assert "spec.service.type: Unsupported value" in str(denied.value)
        await change("NodePort", "--dry-run=server")
    assert await stored() == "ClusterIP"
    await change("NodePort")
    assert await stored() == "NodePort"


async def test_C11_scaling_is_judged_by_the_rules_of_the_size(stack: Stack, kubectl: Kubectl) -> None:
    await create(stack)
    scale = ("scale", f"--namespace={stack.namespace}", "etcdcluster/one")
    for size, nearest in ((8, 7), (0, 1)):
        for flags in ((), ("--dry-run=server",)):
            with pytest.raises(KubectlError) as denied:
                await kubectl(*scale, f"--replicas={size}", *flags)
            assert f"must be from 1 to 7; the nearest valid value is {nearest}" in str(denied.value)
    await kubectl(*scale, "--replicas=5", "--dry-run=server")
    assert (await stack.api.get(ETCD_CLUSTERS, stack.namespace, "one")).spec["size"] == 3
    assert any("4 members survive" in one for one in await kubectl.warnings(*scale, "--replicas=4"))
    await kubectl(*scale, "--replicas=5")
    assert (await stack.api.get(ETCD_CLUSTERS, stack.namespace, "one")).spec["size"] == 5


async def test_W14_status_and_deletion_need_no_webhook(stack: Stack) -> None:
    await create(stack)
    for replica in tuple(stack.replicas):
        await stack.remove_replica(replica)
    with pytest.raises(ServerError):
        await create(stack, "late")
    patch = {"status": {"phase": "Running"}}
    await stack.api.patch(ETCD_CLUSTERS, stack.namespace, "one", patch, subresource="status")
    finalizer = {"metadata": {"finalizers": ["example.com/hold"]}}
    with pytest.raises(KubeError):
        await stack.api.patch(ETCD_CLUSTERS, stack.namespace, "one", finalizer)
    await stack.api.delete(ETCD_CLUSTERS, stack.namespace, "one")
    await stack.add_replica()
    await create(stack, "late")


async def test_W39_finalizers_come_off_without_asking_the_webhook(stack: Stack) -> None:
    held = etcd_cluster("held", stack.namespace)
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await stack.api.create(ETCD_CLUSTERS, held)
    await stack.api.delete(ETCD_CLUSTERS, stack.namespace, "held")
    asked = sum(replica.served("/validate") for replica in stack.replicas)
    await stack.api.patch(ETCD_CLUSTERS, stack.namespace, "held", {"metadata": {"finalizers": None}})
    assert sum(replica.served("/validate") for replica in stack.replicas) == asked
    assert await stack.api.list(ETCD_CLUSTERS, stack.namespace) == []


async def test_W13_other_kinds_are_never_sent(stack: Stack, kubectl: Kubectl) -> None:
    await kubectl("create", f"--namespace={stack.namespace}", "configmap", "any")
    assert sum(replica.served(path) for replica in stack.replicas for path in ("/mutate", "/validate")) == 0


async def test_deprecated_kinds_of_review_are_not_asked_for(stack: Stack, api: Api) -> None:
    for manifest in stack.manifests:
        for webhook in manifest["webhooks"]:
            assert webhook["admissionReviewVersions"] == ["v1"]
