from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import aiohttp
import pytest

from app.etcd.errors import ConnectionLost, DeadlineExceeded, Malformed
from app.etcd.model import Member
from app.etcd.probe import MetricsPort, PeerPort, samples

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LOOPBACK = "127.0.0.1"
DEADLINE = 5.0


class Server:
    """Answers every request with the same bytes; with none it says nothing and keeps the connection."""

    def __init__(self) -> None:
        self.answer = b""
        self.port = 0

    def says(self, status: int, body: str, *headers: str) -> None:
        head = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
        self.answer = "\r\n".join([*head, "", body]).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if self.answer:
            writer.write(self.answer)
        else:
            await reader.read()
        writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    async with await asyncio.start_server(server.serve, LOOPBACK, 0) as listener:
        server.port = listener.sockets[0].getsockname()[1]
        yield server


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_a_refusal_is_an_answer_with_its_reasons(
    server: Server, session: aiohttp.ClientSession
) -> None:
    server.says(503, "[-]linearizable_read failed")
    answer = await MetricsPort(session, LOOPBACK, port=server.port).readyz(deadline=DEADLINE)
    assert (answer.ok, answer.status, answer.text) == (False, 503, "[-]linearizable_read failed")


async def test_silence_ends_at_the_deadline(server: Server, session: aiohttp.ClientSession) -> None:
    with pytest.raises(DeadlineExceeded, match=r"no answer in 0\.05 s"):
        await MetricsPort(session, LOOPBACK, port=server.port).livez(deadline=0.05)


async def test_what_is_not_http_is_a_lost_connection(server: Server, session: aiohttp.ClientSession) -> None:
    server.answer = b"\x15\x03\x01\x00\x02\x02\x50"
    with pytest.raises(ConnectionLost):
        await MetricsPort(session, LOOPBACK, port=server.port).livez(deadline=DEADLINE)


async def test_the_peer_port_tells_the_membership(server: Server, session: aiohttp.ClientSession) -> None:
    body = (
        '[{"id":18446744073709551615,"peerURLs":["http://b:2380"],"isLearner":true},'
        '{"id":1,"peerURLs":["http://a:2380"],"name":"a","clientURLs":["http://a:2379"]}]'
    )
    server.says(200, body, "X-Etcd-Cluster-ID: 21f5f9ed53c38fa2")
    found = await PeerPort(session, LOOPBACK, port=server.port).members(deadline=DEADLINE)
    assert found.cluster_id == 2447136770253623202
    assert found.members == (
        Member(id=1, name="a", peer_urls=("http://a:2380",), client_urls=("http://a:2379",)),
        Member(id=2**64 - 1, peer_urls=("http://b:2380",), is_learner=True),
    )


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (200, "[]", ()),
        (200, "[]", ("X-Etcd-Cluster-Id: no",)),
        (200, "{}", ("X-Etcd-Cluster-Id: 1",)),
        (404, "[]", ("X-Etcd-Cluster-Id: 1",)),
    ],
)
async def test_what_is_not_etcds_is_malformed(
    server: Server, session: aiohttp.ClientSession, status: int, body: str, headers: tuple[str, ...]
) -> None:
    server.says(status, body, *headers)
    with pytest.raises(Malformed):
        await PeerPort(session, LOOPBACK, port=server.port).members(deadline=DEADLINE)


def test_samples_are_picked_by_name_and_keep_their_labels() -> None:
    text = (
        "# HELP etcd_server_has_leader x\n"
        "etcd_server_has_leader 1\n"
        "etcd_server_has_leader_total 7\n"
        'etcd_network_peer_round_trip_time_seconds_sum{To="a b"} 0.25\n'
        "etcd_mvcc_db_total_size_in_bytes 2.048e+07\n"
    )
    wanted = {
        "etcd_server_has_leader",
        "etcd_network_peer_round_trip_time_seconds_sum",
        "etcd_mvcc_db_total_size_in_bytes",
    }
    assert samples(text, wanted) == {
        "etcd_server_has_leader": 1,
        'etcd_network_peer_round_trip_time_seconds_sum{To="a b"}': 0.25,
        "etcd_mvcc_db_total_size_in_bytes": 20480000,
    }
