"""Fixtures of the tests that run an operator in this process."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.act.crds import install
from app.kube.api import Api
from app.kube.client import connect
from app.ops.metrics import Metrics
from tests.cluster.cluster import Cluster
from tests.integration.operator.real import RealPlace, real_place
from tests.integration.operator.world import World, world


@pytest.fixture
async def here(control_plane: Cluster, namespace: str) -> AsyncIterator[World]:
    """A namespace with a model kubelet, on an API server that has the CRDs."""
    await _install(control_plane)
    async with world(namespace, control_plane.kubeconfig) as made:
        yield made


@pytest.fixture
async def there(control_plane: Cluster, namespace: str, tmp_path: Path) -> AsyncIterator[RealPlace]:
    """A namespace whose Pods are run as processes, on an API server that has the CRDs."""
    await _install(control_plane)
    async with real_place(namespace, control_plane.kubeconfig, tmp_path) as made:
        yield made


async def _install(control_plane: Cluster) -> None:
    transport = await connect(str(control_plane.kubeconfig), metrics=Metrics())
    try:
        await install(Api(transport))
    finally:
        await transport.close()
