"""Fixtures of the tests that run an operator in this process."""

from collections.abc import AsyncIterator

import pytest

from app.act.crds import install
from app.kube.api import Api
from app.kube.client import connect
from app.ops.metrics import Metrics
from tests.cluster.cluster import Cluster
from tests.integration.operator.world import World, world


@pytest.fixture
async def here(control_plane: Cluster, namespace: str) -> AsyncIterator[World]:
    """A namespace with a model kubelet, on an API server that has the CRDs."""
    transport = await connect(str(control_plane.kubeconfig), metrics=Metrics())
    try:
        await install(Api(transport))
    finally:
        await transport.close()
    async with world(namespace, control_plane.kubeconfig) as made:
        yield made
