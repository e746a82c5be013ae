import asyncio
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from app.ops.metrics import Metrics
from certs.access import KINDS, Configuration
from certs.authority import create_authority, issue_leaf
from certs.managed import ManagedCertificates
from certs.probe import handshake
from certs.serving import LiveContext
from tests.unit.certs.fakes import NAMES, SETTINGS, FakeAccess, FakeCluster
from tests.unit.certs.tls_server import tls_server
from tests.unit.certs.waiting import until

NOW = datetime.now(UTC)
CA = create_authority(name="webhook-ca", now=NOW, lifetime=timedelta(days=30))
OTHER = create_authority(name="webhook-ca", now=NOW, lifetime=timedelta(days=30))


@pytest.fixture
def port() -> Iterator[int]:
    live = LiveContext()
    leaf = issue_leaf(CA, names=NAMES, now=NOW, lifetime=timedelta(days=7))
    live.load(leaf.pem, leaf.key_pem)
    with tls_server(live.ssl_context) as port:
        yield port


async def test_right_bundle_shakes_hands(port: int) -> None:
    assert await handshake(port=port, name="hook.ns.svc", bundle=OTHER.pem + CA.pem) is None


@pytest.mark.parametrize(
    ("bundle", "name", "why"),
    [
        (OTHER.pem, "hook.ns.svc", "does not verify"),
        (CA.pem, "hook.elsewhere.svc", "does not verify"),
        (b"", "hook.ns.svc", "can't be read"),
        (b"garbage", "hook.ns.svc", "can't be read"),
        (b"\xff", "hook.ns.svc", "can't be read"),
    ],
)
async def test_W2_wrong_bundle_or_name_is_told(port: int, bundle: bytes, name: str, why: str) -> None:
    told = await handshake(port=port, name=name, bundle=bundle)
    assert told is not None
    assert why in told


async def test_nobody_listening_is_told() -> None:
    told = await handshake(port=1, name="hook.ns.svc", bundle=CA.pem)
    assert told is not None
    assert "port 1" in told


async def test_silent_server_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        told = await handshake(port=port, name="hook.ns.svc", bundle=CA.pem, seconds=0.05)
    assert told is not None
    assert "within 0.05 s" in told


async def test_W2_ready_only_once_the_bundle_in_the_cluster_verifies_what_is_served() -> None:
    cluster = FakeCluster()
    cluster.install()
    certificates = ManagedCertificates(
        FakeAccess(cluster),
        names=NAMES,
        name="hook.ns.svc",
        port=0,
        settings=SETTINGS,
        metrics=Metrics(),
        clock=lambda: datetime.now(UTC),
    )
    with tls_server(certificates.ssl_context) as port:
        certificates._port = port
        task = asyncio.create_task(certificates.run())
        await until(lambda: all(found.bundles["w"] for found in cluster.found.values()))
        await until(lambda: certificates._configurations == tuple(cluster.found.values()))
        assert await certificates.check() is None
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for bundle in (b"", OTHER.pem):
            certificates._configurations = tuple(Configuration(kind, "1", {"w": bundle}) for kind in KINDS)
            assert await certificates.check() is not None
