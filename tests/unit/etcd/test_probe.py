from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import aiohttp
import pytest

from app.etcd import plain_http
from app.etcd.errors import ConnectionLost, DeadlineExceeded, Malformed, Unreachable
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


async def test_a_refusal_is_an_answer_with_its_reasons(server: Server) -> None:
    server.says(503, "[-]linearizable_read failed")
    answer = await MetricsPort(LOOPBACK, port=server.port).readyz(deadline=DEADLINE)
    assert (answer.ok, answer.status, answer.text) == (False, 503, "[-]linearizable_read failed")


async def test_silence_ends_at_the_deadline(server: Server) -> None:
    with pytest.raises(DeadlineExceeded, match=r"no answer in 0\.05 s"):
        await MetricsPort(LOOPBACK, port=server.port).livez(deadline=0.05)


async def test_nobody_there_is_unreachable(server: Server) -> None:
    with socket.socket() as nobody:
        nobody.bind((LOOPBACK, 0))  # taken, and not listened on
        with pytest.raises(Unreachable) as refused:
            await MetricsPort(LOOPBACK, port=nobody.getsockname()[1]).livez(deadline=DEADLINE)
    assert not refused.value.outcome_unknown


@pytest.mark.parametrize(
    "answer",
    [
        b"\x15\x03\x01\x00\x02\x02\x50",
        b"HTTP/1.0 200 OK\r\nContent-Le",
        b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok",
    ],
)
async def test_what_ends_too_early_is_a_lost_connection(server: Server, answer: bytes) -> None:
    server.answer = answer
    with pytest.raises(ConnectionLost):
        await MetricsPort(LOOPBACK, port=server.port).livez(deadline=DEADLINE)


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.0\r\n\r\n", b"HTTP/1.0 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\nContent-Length: x\r\n\r\nok"],
)
async def test_what_is_not_http_is_malformed(server: Server, answer: bytes) -> None:
    server.answer = answer
    with pytest.raises(Malformed):
        await MetricsPort(LOOPBACK, port=server.port).livez(deadline=DEADLINE)


async def test_an_answer_without_an_end_is_given_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_http, "LIMIT", 1000)
    server.answer = b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 2000
    with pytest.raises(Malformed, match="more than 1000 bytes"):
        await MetricsPort(LOOPBACK, port=server.port).livez(deadline=DEADLINE)


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
