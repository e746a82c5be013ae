"""A real API server that calls webhooks of ours, which run in the test's own process."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import yaml

from app.kube.api import Api
from app.kube.client import connect
from app.kube.resources import NAMESPACES
from app.ops.metrics import Metrics
from tests.integration.webhooks.kubectl import Kubectl
from tests.integration.webhooks.stack import LONG, MANIFESTS, Stack, local_address

EXISTING = "KUBE_CONTRACT_KUBECONFIG"
"""Names a kubeconfig, while one works on these tests, to save the start of a control plane."""


@pytest.fixture(scope="session")
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    if path := os.environ.get(EXISTING):
        return Path(path)
    found: Path = request.getfixturevalue("control_plane").kubeconfig
    return found


@pytest.fixture(scope="session")
def kubectl(kubeconfig: Path) -> Kubectl:
    return Kubectl(kubeconfig)


@pytest.fixture(scope="session")
def kinds(kubectl: Kubectl) -> None:
    """Our kinds, known to the API server."""
    for file in ("etcdclusters", "etcdbackups", "etcdrestores"):
        crd = str(MANIFESTS / "crd" / f"{file}.yaml")
        kubectl.run("apply", "--server-side", "--force-conflicts", "-f", crd)
        kubectl.run("wait", "--for=condition=Established", f"crd/{file}.etcd.database.coreos.com")


@pytest.fixture
def address(kubeconfig: Path) -> str:
    """How the API server can reach this machine."""
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    return local_address(cluster["server"])


@pytest.fixture
async def api(kubeconfig: Path) -> AsyncIterator[Api]:
    transport = await connect(str(kubeconfig), metrics=Metrics())
    yield Api(transport)
    await transport.close()


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    """A namespace of the test's own; nobody waits for the end of its deletion."""
    name = (await api.create(NAMESPACES, {"metadata": {"generateName": "webhooks-"}})).metadata.name
    yield name
    await api.delete(NAMESPACES, None, name)


@pytest.fixture
async def stack(
    request: pytest.FixtureRequest, kinds: None, api: Api, address: str, namespace: str
) -> AsyncIterator[Stack]:
    """Two replicas, ready, behind one address; a test's parameter may be other lifetimes."""
    async with AsyncExitStack() as on_exit:
        stack = Stack(api, address=address, namespace=namespace, settings=getattr(request, "param", LONG))
        on_exit.push_async_callback(stack.stop)
        await stack.start(replicas=2)
        yield stack
