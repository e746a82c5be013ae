"""Operators of several scopes side by side: each is asked about its own EtcdClusters and no others."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.kube.api import Api
from app.kube.resources import NAMESPACES
from tests.integration.webhooks.kubectl import Kubectl
from tests.integration.webhooks.stack import ETCD_CLUSTERS, MANIFESTS, Stack, etcd_cluster

pytestmark = pytest.mark.integration

CLUSTER_WIDE = {"etcd.database.coreos.com/scope": "clusterwide"}


def rendered(kubectl: Kubectl, folder: Path, scope: str) -> list[dict[str, Any]]:
    """The configurations as shipped for a scope."""
    webhook = os.path.relpath(MANIFESTS / "webhook", folder)
    overlay = {"resources": [webhook], "components": [f"{webhook}/scopes/{scope}"]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    built = yaml.safe_load_all(kubectl.run("kustomize", str(folder)))
    return [one for one in built if one["kind"].endswith("WebhookConfiguration")]


@pytest.fixture
async def other_namespace(api: Api) -> AsyncIterator[str]:
    name = (await api.create(NAMESPACES, {"metadata": {"generateName": "webhooks-other-"}})).metadata.name
    yield name
    await api.delete(NAMESPACES, None, name)


class Scoped(Stack):
    """An installation whose selectors are those that ship for its scope."""

    def __init__(self, api: Api, shipped: list[dict[str, Any]], *, address: str, namespace: str) -> None:
        super().__init__(api, address=address, namespace=namespace)
        self.shipped = shipped

    async def apply_configurations(self) -> None:
        for manifest, shipped in zip(self.manifests, self.shipped, strict=True):
            assert manifest["kind"] == shipped["kind"]
            for webhook, as_shipped in zip(manifest["webhooks"], shipped["webhooks"], strict=True):
                webhook["matchConditions"] = as_shipped["matchConditions"]
                webhook["namespaceSelector"] = as_shipped["namespaceSelector"]
                for label in webhook["namespaceSelector"].get("matchLabels", {}):
                    webhook["namespaceSelector"]["matchLabels"][label] = self.namespace
        await super().apply_configurations()

    def asked(self) -> float:
        return sum(replica.served("/validate") for replica in self.replicas)


async def test_each_operator_is_asked_about_its_own(
    kinds: None,
    api: Api,
    kubectl: Kubectl,
    address: str,
    namespace: str,
    other_namespace: str,
    tmp_path: Path,
) -> None:
    stacks: list[Scoped] = []
    async with AsyncExitStack() as on_exit:
        for scope, where in [
            ("namespaced", namespace),
            ("namespaced", other_namespace),
            ("cluster-wide", namespace),
        ]:
            shipped = rendered(kubectl, tmp_path, scope)
            stack = Scoped(api, shipped, address=address, namespace=where)
            stack.name = f"etcd-operator-{where}-{scope}"
            on_exit.push_async_callback(stack.stop)
            stacks.append(stack)
        # The operators share a CA Secret where they share a namespace here, which does no harm.
        await asyncio.gather(*(stack.start(replicas=1) for stack in stacks))

        async def asked_about(where: str, annotations: dict[str, str] | None) -> list[float]:
            before = [stack.asked() for stack in stacks]
            body = etcd_cluster("one", where)
            body["metadata"]["annotations"] = annotations
            created = await api.create(ETCD_CLUSTERS, body, dry_run=True)
            assert created.spec["size"] == 3
            return [stack.asked() - was for stack, was in zip(stacks, before, strict=True)]

        assert await asked_about(namespace, None) == [1, 0, 0]
        assert await asked_about(namespace, {"any": "thing"}) == [1, 0, 0]
        assert await asked_about(other_namespace, None) == [0, 1, 0]
        assert await asked_about(namespace, CLUSTER_WIDE) == [0, 0, 1]
        assert await asked_about(other_namespace, CLUSTER_WIDE) == [0, 0, 1]
