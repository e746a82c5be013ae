"""A real API server, for tests that speak to it themselves."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.kube.api import Api
from app.kube.client import connect
from app.kube.resources import NAMESPACES
from app.ops.metrics import Metrics

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
    name = (await api.create(NAMESPACES, {"metadata": {"generateName": "test-"}})).metadata.name
    yield name
    await api.delete(NAMESPACES, None, name)
