"""A real API server, directly and through the fault proxy; a kind of objects of the tests' own."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.kube.api import Api
from app.kube.client import connect
from app.kube.errors import AlreadyExists, NotFound
from app.kube.objects import CustomObject
from app.kube.resources import CRDS, NAMESPACES, Resource
from app.ops.metrics import Metrics
from tests.integration.kube.faultproxy import FaultProxy, fault_proxy, kubeconfig_for

GROUP = "contract.example.com"
THINGS: Resource[CustomObject] = Resource(GROUP, "v1", "things", "Thing", CustomObject)

EXISTING = "KUBE_CONTRACT_KUBECONFIG"
"""Names a kubeconfig, while one works on these tests, to save the start of a control plane."""


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    if path := os.environ.get(EXISTING):
        return Path(path)
    found: Path = request.getfixturevalue("control_plane").kubeconfig
    return found


@pytest.fixture
async def api(kubeconfig: Path) -> AsyncIterator[Api]:
    """The API server, directly."""
    transport = await connect(str(kubeconfig), metrics=Metrics())
    yield Api(transport)
    await transport.close()


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    """A namespace of the test's own; nobody waits for the end of its deletion."""
    name = (await api.create(NAMESPACES, {"metadata": {"generateName": "contract-"}})).metadata.name
    yield name
    await api.delete(NAMESPACES, None, name)


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
