from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp
import pytest

from app.etcd.pool import Pool
from tests.integration.etcd.local import LocalCluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from app.etcd.client import Dialer

VERSIONS = ("3.4.23", "3.5.35", "3.6.16", "3.7.3")


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def dialer() -> AsyncIterator[Dialer]:
    pool = Pool()
    yield pool
    await pool.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def clusters(tmp_path: Path, dialer: Dialer) -> Iterator[list[LocalCluster]]:
    """One of each version, for what is a long wait: they wait at the same time."""
    clusters = [LocalCluster(version, tmp_path / version, dialer) for version in VERSIONS]
    yield clusters
    for cluster in clusters:
        cluster.close()


@pytest.fixture
def cluster(version: str, tmp_path: Path, dialer: Dialer) -> Iterator[LocalCluster]:
    cluster = LocalCluster(version, tmp_path, dialer)
    yield cluster
    cluster.close()
