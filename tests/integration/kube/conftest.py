"""A real API server, directly and through the fault proxy; a kind of objects of the tests' own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.kube.api import Api
from app.kube.client import connect
from app.kube.errors import AlreadyExists, NotFound
from app.kube.objects import CustomObject
from app.kube.resources import CRDS, Resource
from app.ops.metrics import Metrics
from tests.integration.api_server import api, kubeconfig, namespace
from tests.integration.kube.faultproxy import FaultProxy, fault_proxy, kubeconfig_for

__all__ = ["api", "kubeconfig", "namespace"]

GROUP = "contract.example.com"
THINGS: Resource[CustomObject] = Resource(GROUP, "v1", "things", "Thing", CustomObject)


@pytest.fixture
async def proxy(kubeconfig: Path) -> AsyncIterator[FaultProxy]:
    async with fault_proxy(kubeconfig) as proxy:
        yield proxy


@pytest.fixture
async def faulty(proxy: FaultProxy, tmp_path: Path) -> AsyncIterator[Api]:
    """The API server, through the proxy."""
    transport = await connect(str(kubeconfig_for(proxy.url, tmp_path / "proxy")), metrics=Metrics())
    yield Api(transport)
    await transport.close()


@pytest.fixture
async def things(api: Api) -> Resource[CustomObject]:
    """A resource whose objects may hold anything."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    crd = {
        "metadata": {"name": f"{THINGS.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": THINGS.plural,
                "singular": "thing",
                "kind": THINGS.kind,
                "listKind": "ThingList",
            },
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
    try:
        await api.create(CRDS, crd)
    except AlreadyExists:
        return THINGS
    while not await _served(api):
        pass
    return THINGS


async def _served(api: Api) -> bool:
    try:
        await api.list(THINGS, "default")
    except NotFound:
        return False
    return True
