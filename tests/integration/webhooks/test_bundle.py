"""The ``caBundle`` in the cluster: filled, guarded, and nothing else touched."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.kube.api import Api
from app.kube.resources import SECRETS
from certs.access import FIELD_MANAGER
from certs.authority import create_authority
from certs.rotation import State
from certs.store import encode
from tests.integration.webhooks.kubectl import Kubectl
from tests.integration.webhooks.stack import ETCD_CLUSTERS, RESOURCES, SECRET, Stack, etcd_cluster
from tests.integration.webhooks.waiting import until

pytestmark = pytest.mark.integration


async def secret(stack: Stack) -> dict[str, bytes]:
    found = await stack.api.get(SECRETS, stack.namespace, SECRET)
    return {key: base64.b64decode(value) for key, value in (found.data or {}).items()}


async def live(kubectl: Kubectl, stack: Stack, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        await kubectl("get", kind, stack.name, "-o", "json", "--show-managed-fields")
    )
    return found


async def test_W7_replicas_that_start_at_once_serve_under_one_authority(
    kinds: None, api: Api, address: str, namespace: str
) -> None:
    stack = Stack(api, address=address, namespace=namespace)
    try:
        await stack.start(replicas=3)
        (bundle,) = await stack.bundles()
        assert bundle == (await secret(stack))["ca.crt"]
        await api.create(ETCD_CLUSTERS, etcd_cluster("one", namespace))
    finally:
        await stack.stop()


@pytest.mark.parametrize("value", ["", "Cg==", base64.b64encode(b"garbage").decode()])
async def test_W9_W11_reset_is_repaired_in_seconds_by_a_replica_that_is_left(
    stack: Stack, kubectl: Kubectl, value: str
) -> None:
    right = await stack.bundles()
    await stack.remove_replica(stack.replicas[0])
    patch = json.dumps([{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": value}])
    for kind in RESOURCES:
        await kubectl("patch", kind, stack.name, "--type=json", "-p", patch)

    async def repaired() -> bool:
        return await stack.bundles() == right

    await until(repaired, seconds=5)
    await stack.api.create(ETCD_CLUSTERS, etcd_cluster("one", stack.namespace))


async def test_configurations_deleted_and_applied_anew_are_filled(stack: Stack) -> None:
    right = await stack.bundles()
    for kind, resource in RESOURCES.items():
        await stack.api.delete(resource, None, stack.name)
        assert kind
    await stack.apply_configurations()

    async def repaired() -> bool:
        return await stack.bundles() == right

    await until(repaired)


async def test_W40_one_field_is_owned_and_no_other_is_touched(stack: Stack, kubectl: Kubectl) -> None:
    for kind in RESOURCES:
        found = await live(kubectl, stack, kind)
        (ours,) = [one for one in found["metadata"]["managedFields"] if one["manager"] == FIELD_MANAGER]
        ((name, owned),) = ours["fieldsV1"].pop("f:webhooks").items()
        assert name.startswith("k:")
        assert owned == {".": {}, "f:clientConfig": {"f:caBundle": {}}, "f:name": {}}
        assert ours["fieldsV1"] == {}


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client-side", "server-side"])
async def test_W12_after_a_sync_nothing_drifts(
    stack: Stack, kubectl: Kubectl, flags: tuple[str, ...]
) -> None:
    right = await stack.bundles()
    manifests = json.dumps({"apiVersion": "v1", "kind": "List", "items": stack.manifests})
    manager = ("--field-manager=installer",) if flags else ()
    await kubectl("apply", *flags, *manager, "-f", "-", stdin=manifests)
    await kubectl("diff", *flags, *manager, "-f", "-", stdin=manifests)  # fails if there is any
    assert await stack.bundles() == right


async def test_W1_E10_expired_secret_is_replaced_before_anything_is_served(
    kinds: None, api: Api, address: str, namespace: str
) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=400)
    dead = create_authority(name="webhook-ca", now=long_ago, lifetime=timedelta(days=365))
    data = {
        key: base64.b64encode(value).decode()
        for key, value in encode(State(active=dead, since=long_ago)).items()
        if value is not None
    }
    await api.create(SECRETS, {"metadata": {"name": SECRET}, "data": data}, namespace=namespace)
    stack = Stack(api, address=address, namespace=namespace)
    try:
        await stack.start(replicas=2)
        (bundle,) = await stack.bundles()
        assert dead.pem not in bundle
        await api.create(ETCD_CLUSTERS, etcd_cluster("one", namespace))
    finally:
        await stack.stop()


@pytest.mark.parametrize("damage", [{"ca.key": ""}, {"ca.crt": "eA=="}, {"ca.crt": None, "state": None}])
async def test_half_written_secret_is_mended_without_a_new_authority(
    stack: Stack, damage: dict[str, str | None]
) -> None:
    before, bundles = await secret(stack), await stack.bundles()
    await stack.api.patch(SECRETS, stack.namespace, SECRET, {"data": damage})

    async def mended() -> bool:
        now = await secret(stack)
        return (now.get("ca.crt"), now.get("ca.key")) == (before["ca.crt"], before["ca.key"])

    await until(mended)
    assert await stack.bundles() == bundles


async def test_other_secrets_fields_survive(stack: Stack) -> None:
    extra = {"metadata": {"labels": {"team": "a"}}, "data": {"note": "eA==", "ca.key": ""}}
    await stack.api.patch(SECRETS, stack.namespace, SECRET, extra)

    async def mended() -> bool:
        return bool((await secret(stack)).get("ca.key"))

    await until(mended)
    found = await stack.api.get(SECRETS, stack.namespace, SECRET)
    assert (found.metadata.labels or {})["team"] == "a"
    assert (found.data or {})["note"] == "eA=="


async def test_W22_every_replica_serves(stack: Stack) -> None:
    for replica in stack.replicas:
        stack.balancer.endpoints = [replica]
        before = replica.served("/validate")
        await stack.api.create(ETCD_CLUSTERS, etcd_cluster(f"one-{replica.port}", stack.namespace))
        assert await replica.certificates.check() is None
        assert replica.served("/validate") >= before


async def test_W2_not_ready_before_the_bundle_is_in_the_cluster(
    kinds: None, api: Api, address: str, namespace: str
) -> None:
    stack = Stack(api, address=address, namespace=namespace)
    try:
        await stack.start(replicas=1)
        (replica,) = stack.replicas
        for resource in RESOURCES.values():
            await api.delete(resource, None, stack.name)

        async def unready() -> bool:
            return await replica.certificates.check() == "The mutating webhook configuration does not exist"

        await until(unready)
        await stack.apply_configurations()
        await replica.ready()
    finally:
        await stack.stop()
