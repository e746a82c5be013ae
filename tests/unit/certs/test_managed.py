import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest
from cryptography import x509

from app.kube.errors import Unreachable
from app.ops.metrics import Metrics
from certs.authority import create_authority, load_ca_certificates
from certs.managed import ManagedCertificates
from certs.rotation import Settings, State
from certs.store import encode
from tests.unit.certs.fakes import NAMES, SETTINGS, START, FakeAccess, FakeCluster
from tests.unit.certs.handshakes import client, served, shake
from tests.unit.certs.waiting import until

pytestmark = pytest.mark.looptime

NAME = "hook.ns.svc"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURS = Settings(ca_lifetime=9 * HOUR, leaf_lifetime=HOUR, soak=timedelta(minutes=1))


def clock() -> datetime:
    """The loop's own time, which jumps to whatever is waited for; certificates begin far in the past."""
    return NOW + timedelta(seconds=asyncio.get_running_loop().time())


# Handshakes judge validity by the machine's clock; so virtual time begins at the machine's own present.
NOW = datetime.now(tz=START.tzinfo)


def replica(cluster: FakeCluster, *, settings: Settings = SETTINGS) -> ManagedCertificates:
    return ManagedCertificates(
        FakeAccess(cluster),
        names=NAMES,
        name=NAME,
        port=1,
        settings=settings,
        metrics=Metrics(),
        clock=clock,
    )


@asynccontextmanager
async def running(*replicas: ManagedCertificates) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(one.run()) for one in replicas]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def leaf(certificates: ManagedCertificates) -> x509.Certificate:
    found = certificates._live.served
    assert found is not None
    return found


def verifies(bundle: bytes, certificates: ManagedCertificates) -> bool:
    """Whether a CA of the bundle signed what is served; chains only, since virtual time runs ahead."""
    return any(_signed(ca.certificate, leaf(certificates)) for ca in load_ca_certificates(bundle))


def _signed(ca: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(ca)
    except Exception:  # noqa: BLE001 - of several kinds, all of which mean no
        return False
    return True


async def test_fresh_cluster_gets_an_authority_a_bundle_and_a_certificate() -> None:
    cluster = FakeCluster()
    cluster.install()
    one = replica(cluster)
    async with running(one):
        await until(lambda: bool(cluster.bundle))
        side = shake(one.ssl_context, client(cluster.bundle), NAME)
        assert served(side) == leaf(one)


async def test_settled_cluster_is_left_alone() -> None:
    cluster = FakeCluster()
    cluster.install()
    async with running(replica(cluster), replica(cluster)):
        await until(lambda: bool(cluster.bundle))
        await asyncio.sleep(60)
        cluster.writes.clear()
        await asyncio.sleep(HOUR.total_seconds())
        assert cluster.writes == []


async def test_W7_replicas_that_start_at_once_end_with_one_authority() -> None:
    cluster = FakeCluster()
    cluster.install()
    replicas = [replica(cluster) for _ in range(3)]
    async with running(*replicas):
        await asyncio.gather(*(one.loaded.wait() for one in replicas))
        await until(lambda: bool(cluster.bundle))
        assert cluster.writes.count("create") == 1
        for one in replicas:
            shake(one.ssl_context, client(cluster.bundle), NAME)


@pytest.mark.parametrize("bundle", [b"", b"\n", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
async def test_W9_W11_reset_or_placeholder_bundle_is_replaced_within_seconds(bundle: bytes) -> None:
    cluster = FakeCluster()
    cluster.install(bundle)
    async with running(replica(cluster), replica(cluster)):
        await until(lambda: cluster.bundle != bundle, seconds=5)
        right = cluster.bundle
        cluster.install(bundle)
        await until(lambda: cluster.bundle == right, seconds=5)


async def test_W9_reset_is_repaired_by_any_replica_that_is_left() -> None:
    cluster = FakeCluster()
    cluster.install()
    first, second = replica(cluster), replica(cluster)
    async with running(second):
        async with running(first):
            await until(lambda: bool(cluster.bundle))
        right = cluster.bundle
        cluster.install(b"")
        await until(lambda: cluster.bundle == right, seconds=5)


async def test_configurations_applied_later_are_filled() -> None:
    cluster = FakeCluster()
    async with running(replica(cluster)):
        await asyncio.sleep(100)
        cluster.install()
        await until(lambda: bool(cluster.bundle), seconds=5)


async def test_W1_E10_expired_secret_at_start_is_reissued_before_anything_is_served() -> None:
    cluster = FakeCluster()
    cluster.install()
    dead = create_authority(name="webhook-ca", now=NOW - 400 * DAY, lifetime=365 * DAY)
    cluster.put_secret(encode(State(active=dead, since=NOW - 400 * DAY)))
    one = replica(cluster)
    async with running(one):
        await one.loaded.wait()
        assert leaf(one).not_valid_after_utc > clock() + DAY
        await until(lambda: bool(cluster.bundle) and verifies(cluster.bundle, one))
        assert dead.pem not in cluster.bundle


async def test_E10_W22_W23_every_replica_serves_a_valid_certificate_after_the_first_expired() -> None:
    cluster = FakeCluster()
    cluster.install()
    replicas = [replica(cluster, settings=HOURS) for _ in range(2)]
    async with running(*replicas):
        await asyncio.gather(*(one.loaded.wait() for one in replicas))
        for _ in range(8):
            await asyncio.sleep((HOURS.leaf_lifetime / 2).total_seconds())
            for one in replicas:
                assert leaf(one).not_valid_after_utc > clock()
                assert verifies(cluster.bundle, one)


async def test_W5_W6_through_a_whole_rotation_every_bundle_verifies_every_certificate() -> None:
    cluster = FakeCluster()
    cluster.install()
    replicas = [replica(cluster, settings=HOURS) for _ in range(2)]
    async with running(*replicas):
        await asyncio.gather(*(one.loaded.wait() for one in replicas))
        await until(lambda: bool(cluster.bundle))
        first = cluster.bundle
        sizes = set()
        end = clock() + 18 * HOUR
        while clock() < end:
            bundle = cluster.bundle
            sizes.add(bundle.count(b"BEGIN"))
            for one in replicas:
                assert verifies(bundle, one)
                assert leaf(one).not_valid_after_utc > clock()
            await asyncio.sleep(20)
        assert sizes == {1, 2}
        assert first not in cluster.bundle


async def test_unreachable_api_server_takes_nothing_from_what_is_served() -> None:
    cluster = FakeCluster()
    cluster.install()
    one = replica(cluster, settings=HOURS)
    async with running(one):
        await until(lambda: bool(cluster.bundle))
        cluster.failure = Unreachable("no route")
        await asyncio.sleep((3 * HOURS.leaf_lifetime).total_seconds())
        assert leaf(one).not_valid_after_utc > clock()
        assert one._metrics.certificate_errors.labels("kubernetes")._value.get() > 0
        cluster.failure = None
        await until(lambda: verifies(cluster.bundle, one), seconds=120)


async def test_unreachable_api_server_at_start_is_waited_for() -> None:
    cluster = FakeCluster(failure=Unreachable("no route"))
    cluster.install()
    one = replica(cluster)
    async with running(one):
        await asyncio.sleep(300)
        assert await one.check() == "no route"
        cluster.failure = None
        await until(one.loaded.is_set, seconds=60)


@pytest.mark.parametrize("damage", [{"ca.crt": b"x"}, {"ca.key": None}, {"state": b"{"}, {"ca.crt": None}])
async def test_damaged_secret_is_mended_by_running_replicas_without_losing_the_authority(
    damage: dict[str, bytes | None],
) -> None:
    cluster = FakeCluster()
    cluster.install()
    one = replica(cluster)
    async with running(one):
        await until(lambda: bool(cluster.bundle))
        await asyncio.sleep(60)
        before, bundle = cluster.stored, cluster.bundle
        assert before is not None
        cluster.put_secret({**before.data, **damage})
        await until(lambda: cluster.stored is not None and cluster.stored.data.get("ca.key") is not None)
        await asyncio.sleep(120)
        assert cluster.stored is not None
        assert cluster.stored.data["ca.crt"] == before.data["ca.crt"]
        assert cluster.bundle == bundle


async def test_deleted_secret_is_made_anew_and_no_certificate_loses_its_trust() -> None:
    cluster = FakeCluster()
    cluster.install()
    replicas = [replica(cluster) for _ in range(2)]
    async with running(*replicas):
        await until(lambda: bool(cluster.bundle))
        old = cluster.bundle
        cluster.delete_secret()
        for _ in range(200):
            await asyncio.sleep(1)
            assert all(verifies(cluster.bundle, one) for one in replicas)
        assert cluster.bundle != old
        assert not any(verifies(old, one) for one in replicas)


async def test_W24_other_names_give_another_certificate() -> None:
    cluster = FakeCluster()
    cluster.install()
    one = replica(cluster)
    async with running(one):
        await one.loaded.wait()
    before = leaf(one)
    one._names = ("renamed", "renamed.ns", "renamed.ns.svc")
    async with running(one):
        await until(lambda: leaf(one) != before)
        names = leaf(one).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName)[0] == "renamed"


async def test_W38_metrics_say_when_certificates_end() -> None:
    cluster = FakeCluster()
    cluster.install()
    one = replica(cluster)
    async with running(one):
        await one.loaded.wait()
        serving = one._metrics.registry.get_sample_value(
            "certificate_expiry_seconds", {"certificate": "serving"}
        )
        assert serving == leaf(one).not_valid_after_utc.timestamp()
        ca = one._metrics.registry.get_sample_value("certificate_expiry_seconds", {"certificate": "ca"})
        assert ca is not None
        assert ca > serving


async def test_W2_readiness_names_what_is_missing() -> None:
    cluster = FakeCluster()
    one = replica(cluster)
    assert await one.check() == "The CA is not loaded yet"
    async with running(one):
        await one.loaded.wait()
        assert await one.check() == "The mutating webhook configuration does not exist"


async def test_no_key_is_ever_logged(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    cluster = FakeCluster()
    cluster.install()
    async with running(replica(cluster)):
        await until(lambda: bool(cluster.bundle))
    told = capsys.readouterr()
    assert "PRIVATE" not in caplog.text + told.out + told.err
