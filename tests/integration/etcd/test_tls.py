"""TLS as members of a Pod have it: dialled by address, checked by name, with client certificates."""

from __future__ import annotations

import ssl
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from app.etcd.endpoint import TLS, Endpoint
from app.etcd.errors import EtcdError, TLSFailure, Unreachable
from app.etcd.probe import MetricsPort, PeerPort
from tests.integration.etcd.local import DEADLINE, TOKEN, LocalCluster, eventually
from tests.integration.etcd.pki import CLIENT, SERVER, Authority
from tests.integration.etcd.processes import LOOPBACK, Process

if TYPE_CHECKING:
    from pathlib import Path

    import aiohttp

    from app.etcd.client import Dialer

pytestmark = pytest.mark.integration

NAME = "m0.example.default.svc"


@pytest.fixture
def authority() -> Authority:
    return Authority("clients")


@pytest.fixture
def member(cluster: LocalCluster, authority: Authority, tmp_path: Path) -> Process:
    """One member whose server certificate has a DNS name only, and serverAuth as its only usage."""
    peers = Authority("peers")
    serving = authority.issue("server", usages=[SERVER], names=[NAME])
    between = peers.issue("peer", usages=[SERVER, CLIENT], names=[NAME], addresses=[LOOPBACK])
    ours = authority.issue("etcd-operator", usages=[CLIENT])
    member = cluster.make(
        "m0",
        client_tls=authority.store(serving, tmp_path / "server"),
        peer_tls=peers.store(between, tmp_path / "peer"),
        tls=TLS(authority.pem, ours.certificate, ours.key),
        server_name=NAME,
    )
    return member.start(cluster={"m0": member.peer_url}, token=TOKEN)


async def test_x25_a_member_is_dialled_by_address_and_checked_by_name(
    cluster: LocalCluster, member: Process, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    status = await cluster.serving("m0")
    assert status.is_leader
    async with cluster.confirmed("m0") as client:
        await client.put(b"k", b"v", deadline=DEADLINE)
        assert (await client.get(b"k", deadline=DEADLINE)).value == b"v"
        added = await client.member_add(["https://127.0.0.1:1"], deadline=DEADLINE)
        await client.member_remove(added.member.id, deadline=DEADLINE)
        chunks = [chunk async for chunk in client.snapshot(deadline=DEADLINE)]
        size = sum(len(chunk.blob) for chunk in chunks)
        assert size % 512 == 32

    metrics = MetricsPort(LOOPBACK, port=member.metrics_port)
    assert (await metrics.health(deadline=DEADLINE)).ok

    context = ssl.create_default_context(cafile=str(tmp_path / "peer" / "ca.crt"))
    context.load_cert_chain(tmp_path / "peer" / "tls.crt", tmp_path / "peer" / "tls.key")
    peers = PeerPort(session, LOOPBACK, port=member.peer_port, tls=context, server_name=NAME)
    assert (await peers.version(deadline=DEADLINE)).server == cluster.version
    assert (await peers.members(deadline=DEADLINE)).cluster_id == status.header.cluster_id
    stranger = ssl.create_default_context(cafile=str(tmp_path / "peer" / "ca.crt"))
    with pytest.raises(Unreachable):
        await PeerPort(session, LOOPBACK, port=member.peer_port, tls=stranger, server_name=NAME).version(
            deadline=DEADLINE
        )


async def test_what_does_not_fit_is_told_as_what_it_is(
    cluster: LocalCluster, member: Process, authority: Authority, dialer: Dialer
) -> None:
    await cluster.serving("m0")
    good = member.endpoint
    assert good.tls is not None

    async def ask(endpoint: Endpoint) -> EtcdError:
        async with dialer.dial(endpoint) as client:
            with pytest.raises(EtcdError) as caught:
                await client.status(deadline=DEADLINE)
        return caught.value

    wrong_name = await ask(replace(good, server_name="m1.example.default.svc"))
    assert isinstance(wrong_name, TLSFailure)
    other_authority = await ask(replace(good, tls=replace(good.tls, ca=Authority("other").pem)))
    assert isinstance(other_authority, TLSFailure)
    for stranger in (TLS(authority.pem), _signed_by(Authority("other"), authority)):
        refused = await ask(replace(good, tls=stranger))
        assert isinstance(refused, Unreachable)
    plain = await ask(replace(good, tls=None, server_name=""))
    assert isinstance(plain, Unreachable)
    await eventually(lambda: cluster.status("m0"))


def _signed_by(issuer: Authority, trusted: Authority) -> TLS:
    pair = issuer.issue("stranger", usages=[CLIENT])
    return TLS(trusted.pem, pair.certificate, pair.key)
