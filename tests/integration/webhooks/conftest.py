"""A real API server that calls webhooks of ours, which run in the test's own process."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import yaml

from app.kube.api import Api
from tests.integration.api_server import api, kubeconfig, namespace
from tests.integration.webhooks.kubectl import Kubectl
from tests.integration.webhooks.stack import LONG, MANIFESTS, Stack, local_address

__all__ = ["api", "kubeconfig", "namespace"]


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


@pytest.fixture(scope="session")
def address(kubeconfig: Path) -> str:
    """How the API server can reach this machine."""
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    return local_address(cluster["server"])


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
