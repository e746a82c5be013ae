import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.ops.metrics import Metrics
from certs.authority import Authority, Leaf, create_authority, issue_leaf
from certs.external import ExternalCertificates
from tests.unit.certs.handshakes import client, served, shake
from tests.unit.certs.tls_server import tls_server
from tests.unit.certs.waiting import until

NAME = "hook.ns.svc"
NOW = datetime.now(UTC)
CA = create_authority(name="somebody", now=NOW, lifetime=timedelta(days=30))


def leaf(authority: Authority = CA) -> Leaf:
    return issue_leaf(authority, names=(NAME,), now=NOW, lifetime=timedelta(days=7))


def write(directory: Path, pair: Leaf, ca: bytes = CA.pem) -> None:
    (directory / "tls.crt").write_bytes(pair.pem)
    (directory / "tls.key").write_bytes(pair.key_pem)
    (directory / "ca.crt").write_bytes(ca)


def external(directory: Path, *, port: int = 1) -> ExternalCertificates:
    return ExternalCertificates(directory, name=NAME, port=port, metrics=Metrics(), interval=0.01)


def errors(certificates: ExternalCertificates) -> float:
    value: float = certificates._metrics.certificate_errors.labels("load")._value.get()
    return value


@asynccontextmanager
async def following(certificates: ExternalCertificates) -> AsyncIterator[None]:
    task = asyncio.create_task(certificates.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_files_are_served_and_followed(tmp_path: Path) -> None:
    write(tmp_path, leaf())
    certificates = external(tmp_path)
    async with following(certificates):
        await asyncio.wait_for(certificates.loaded.wait(), 10)
        first = certificates._live.served
        write(tmp_path, leaf())
        await until(lambda: certificates._live.served != first)
        assert served(shake(certificates.ssl_context, client(CA.pem), NAME)) == certificates._live.served


async def test_W4_certificate_without_its_key_is_counted_and_the_last_good_pair_serves_on(
    tmp_path: Path,
) -> None:
    write(tmp_path, leaf())
    certificates = external(tmp_path)
    async with following(certificates):
        await asyncio.wait_for(certificates.loaded.wait(), 10)
        first, second = certificates._live.served, leaf()
        (tmp_path / "tls.crt").write_bytes(second.pem)
        await until(lambda: errors(certificates) > 0)
        assert served(shake(certificates.ssl_context, client(CA.pem), NAME)) == first
        (tmp_path / "tls.key").write_bytes(second.key_pem)
        await until(lambda: certificates._live.served != first)


async def test_files_that_vanish_take_nothing_from_what_is_served(tmp_path: Path) -> None:
    write(tmp_path, leaf())
    certificates = external(tmp_path)
    async with following(certificates):
        await asyncio.wait_for(certificates.loaded.wait(), 10)
        (tmp_path / "tls.crt").unlink()
        await until(lambda: errors(certificates) > 0)
        shake(certificates.ssl_context, client(CA.pem), NAME)


async def test_files_that_come_late_are_waited_for(tmp_path: Path) -> None:
    certificates = external(tmp_path)
    async with following(certificates):
        await until(lambda: errors(certificates) > 0)
        why = await certificates.check()
        assert why is not None
        assert "tls.crt" in why
        write(tmp_path, leaf())
        await asyncio.wait_for(certificates.loaded.wait(), 10)


async def test_W2_ready_only_if_its_own_chain_holds(tmp_path: Path) -> None:
    write(tmp_path, leaf())
    certificates = external(tmp_path)
    with tls_server(certificates.ssl_context) as certificates._port:
        async with following(certificates):
            await asyncio.wait_for(certificates.loaded.wait(), 10)
            assert await certificates.check() is None
            stranger = create_authority(name="stranger", now=NOW, lifetime=timedelta(days=1))
            write(tmp_path, leaf(), ca=stranger.pem)
            await until(lambda: certificates._ca == stranger.pem)
            why = await certificates.check()
            assert why is not None
            assert "does not verify" in why
            (tmp_path / "ca.crt").write_bytes(b"")
            await until(lambda: certificates._ca == b"")
            assert await certificates.check() is None
