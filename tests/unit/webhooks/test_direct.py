"""The short way of a request, told from aiohttp's by the header in which aiohttp names itself."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest
import uvloop

from app.ops.metrics import Metrics
from certs.authority import create_authority, issue_leaf
from certs.serving import LiveContext
from tests.unit.certs.waiting import until
from tests.unit.webhooks.reviews import body, cluster
from webhooks.direct import LONGEST, Connection, Head, read_head, split, write
from webhooks.review import Reply
from webhooks.routes import hooks
from webhooks.server import WebhookServer

NOW = datetime.now(UTC)
CA = create_authority(name="webhook-ca", now=NOW, lifetime=timedelta(days=30))
LEAF = issue_leaf(CA, names=("hook.ns.svc",), now=NOW, lifetime=timedelta(days=7))
GO = (
    "Host: hook.ns.svc:443",
    "User-Agent: kube-apiserver-admission",
    "Content-Length: {length}",
    "Accept: application/json, */*",
    "Content-Type: application/json",
    "Accept-Encoding: gzip",
)


def request(
    content: bytes, *, path: str = "/validate?timeout=10s", headers: tuple[str, ...] = GO, verb: str = "POST"
) -> bytes:
    lines = [f"{verb} {path} HTTP/1.1", *(one.format(length=len(content)) for one in headers), "", ""]
    return "\r\n".join(lines).encode() + content


class Client:
    """One connection; tells for each answer its status, its body and whether it went the short way."""

    def __init__(self, server: WebhookServer, metrics: Metrics) -> None:
        self.server = server
        self.metrics = metrics
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    @property
    def counted(self) -> float:
        labels = {"webhook": "/validate", "code": "200"}
        name = "controller_runtime_webhook_requests_total"
        return self.metrics.registry.get_sample_value(name, labels) or 0

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Those that go the short way."""
        assert self.server._http is not None
        return tuple(self.server._http._plain)

    async def connect(self) -> None:
        trust = ssl.create_default_context(cadata=CA.pem.decode())
        self.reader, self.writer = await asyncio.open_connection(
            "127.0.0.1", self.server.port, ssl=trust, server_hostname="hook.ns.svc"
        )

    async def accepted(self) -> tuple[Connection, ...]:
        """The server's side, once it knows that the handshake is over."""
        await until(lambda: bool(self.connections), every=0.001)
        return self.connections

    async def read(self) -> tuple[int, bytes, bool]:
        async with asyncio.timeout(10):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
            fields = dict(line.split(": ", 1) for line in head.splitlines()[1:-1])
            content = await self.reader.readexactly(int(fields["content-length"]))
        assert fields["content-type"] == "application/json"
        assert fields["date"].endswith("gmt")
        return int(head.split()[1]), content, "server" not in fields

    async def ask(self, data: bytes) -> tuple[int, bytes, bool]:
        self.writer.write(data)
        return await self.read()

    async def is_direct(self, data: bytes) -> bool:
        status, content, direct = await self.ask(data)
        assert status == 200
        assert b'"allowed":true' in content
        return direct


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    live, metrics = LiveContext(), Metrics()
    live.load(LEAF.pem, LEAF.key_pem)
    server = WebhookServer(
        hooks=hooks(), ssl_context=live.ssl_context, metrics=metrics, host="127.0.0.1", port=0
    )
    await server.start()
    client = Client(server, metrics)
    await client.connect()
    try:
        yield client
    finally:
        client.writer.close()
        with suppress(ConnectionError):
            await client.writer.wait_closed()
        await server.stop()


PLAIN = request(body())


async def test_plain_requests_go_the_short_way() -> None:
    async with connected() as client:
        assert [await client.is_direct(PLAIN) for _ in range(4)] == [True] * 4
        assert client.counted == 4


async def test_both_ways_answer_alike() -> None:
    async with connected() as client:
        asked = [
            (content, path)
            for content in (body(), body(object=cluster(size=8)), b"{", b"", body(uid=""))
            for path in ("/validate", "/mutate?timeout=3s")
        ]
        short = [await client.ask(request(content, path=path)) for content, path in asked]
        assert all(direct for _, _, direct in short)
        unknown = (*GO, "X-Unknown: 1")
        long = [await client.ask(request(content, path=path, headers=unknown)) for content, path in asked]
        assert long == [(status, answer, False) for status, answer, _ in short]


@pytest.mark.parametrize(
    "other",
    [
        request(body(), headers=(*GO, "Connection: keep-alive")),
        request(body(), headers=(*GO, "Expect: nothing")),
        request(body(), path="/validate?timeout=10s&x=1"),
        request(body(), path="/%76alidate"),
        request(body(), path="/elsewhere"),
        request(body().ljust(LONGEST + 1)),
    ],
)
async def test_with_what_is_not_plain_aiohttp_takes_over(other: bytes) -> None:
    async with connected() as client:
        assert await client.is_direct(PLAIN)
        assert len(client.connections) == 1
        status, _, direct = await client.ask(other)
        assert status in {200, 404, 417}
        assert not direct
        assert not client.connections
        assert not await client.is_direct(PLAIN)


def test_aiohttp_takes_over_on_uvloop_too() -> None:
    async def talk() -> None:
        async with connected() as client:
            assert await client.is_direct(PLAIN)
            other = request(body(), headers=(*GO, "X-Unknown: 1"))
            assert [await client.is_direct(one) for one in (other, PLAIN)] == [False, False]

    uvloop.run(talk())


async def test_a_body_in_pieces_is_awaited() -> None:
    async with connected() as client:
        (connection,) = await client.accepted()
        for start in range(0, len(PLAIN), 700):
            connection.data_received(PLAIN[start : start + 700])
        status, _, direct = await client.read()
        assert (status, direct) == (200, True)
        assert await client.is_direct(PLAIN)


async def test_a_body_that_lingers_is_aiohttps_to_await(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhooks.direct.PATIENCE", 0.01)
    slow = request(body(), path="/validate?timeout=50ms")
    async with connected() as client:
        client.writer.write(slow[:-1])
        status, content, direct = await client.read()
        assert (status, direct) == (504, False)
        assert b"timeout" in content


async def test_a_body_that_lingers_a_while_is_read_by_aiohttp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhooks.direct.PATIENCE", 0.01)
    async with connected() as client:
        (connection,) = await client.accepted()
        connection.data_received(PLAIN[:-1])
        await until(lambda: not client.connections, every=0.001)
        assert not await client.is_direct(PLAIN[-1:])


async def test_a_piece_that_looks_like_a_request_is_none_within_a_body() -> None:
    async with connected() as client:
        (connection,) = await client.accepted()
        inside = request(b"  " + PLAIN)
        cut = len(inside) - len(PLAIN)
        connection.data_received(inside[:cut])
        connection.data_received(inside[cut:])
        status, content, direct = await client.read()
        assert (status, direct) == (400, True)
        assert b"can't be read" in content
        assert await client.is_direct(PLAIN)  # one answer to one request


async def test_a_head_in_pieces_is_aiohttps() -> None:
    async with connected() as client:
        client.writer.write(b"POST /validate HTTP/1.1\r\nX-Half: ")
        client.writer.write(PLAIN)
        status, _, direct = await client.read()
        assert (status, direct) == (200, False)


async def test_pipelined_requests_are_all_answered_in_order() -> None:
    async with connected() as client:
        assert await client.is_direct(PLAIN)
        other = request(body(uid="another"))
        client.writer.write(PLAIN + other + PLAIN)
        answers = [await client.read() for _ in range(3)]
        assert [b"another" in content for _, content, _ in answers] == [False, True, False]
        assert not any(direct for _, _, direct in answers)


async def test_a_draining_server_asks_to_close_so_it_goes_the_long_way() -> None:
    async with connected() as client:
        assert await client.is_direct(PLAIN)
        client.server.drain()
        assert not await client.is_direct(PLAIN)
        assert await client.reader.read() == b""


async def test_a_draining_server_asks_whoever_comes_then_to_close_too() -> None:
    async with connected() as client:
        client.server.drain()
        late = Client(client.server, client.metrics)
        await late.connect()
        assert not await late.is_direct(PLAIN)
        assert await late.reader.read() == b""
        late.writer.close()


async def test_a_request_that_has_begun_is_answered_by_a_server_that_drains() -> None:
    async with connected() as client:
        (connection,) = await client.accepted()
        connection.data_received(PLAIN[:-1])
        client.server.drain()
        assert not await client.is_direct(PLAIN[-1:])
        assert await client.reader.read() == b""


@pytest.mark.parametrize("asked", [(), (PLAIN,), (PLAIN, request(body(), headers=(*GO, "X-Unknown: 1")))])
async def test_a_server_that_stops_closes_who_says_nothing_at_once(asked: tuple[bytes, ...]) -> None:
    async with connected() as client:
        await client.accepted()
        for one in asked:
            await client.ask(one)
        async with asyncio.timeout(5):
            stopping = asyncio.create_task(client.server.stop(grace=60))
            assert await client.reader.read() == b""
            client.writer.close()
            await stopping


async def test_a_server_that_stops_cuts_off_who_says_no_farewell() -> None:
    async with connected() as client:
        await client.accepted()
        connections, transport = client.server._http, client.writer.transport
        assert connections is not None
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()  # so that it sees no farewell
        await client.server.stop(grace=0.05)
        await until(lambda: not connections._plain, every=0.001)
        transport.abort()


class Wire(asyncio.Transport):
    """Notes what a connection does with it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def write(self, data: object) -> None:
        self.done.append("write")

    def close(self) -> None:
        self.done.append("close")

    def pause_reading(self) -> None:
        self.done.append("pause")

    def resume_reading(self) -> None:
        self.done.append("resume")


class Alone:
    """Owns one connection that is never aiohttp's."""

    def at_once(self, _path: str, body: bytes) -> Reply:
        return Reply(200, body)

    def long_way(self) -> asyncio.Protocol:
        raise AssertionError("a plain request was handed over")

    def came(self, connection: Connection) -> None: ...

    def went(self, connection: Connection) -> None: ...


def lone() -> tuple[Connection, Wire]:
    wire = Wire()
    connection = Connection(Alone(), idle=120.0)
    connection.connection_made(wire)
    return connection, wire


@pytest.mark.looptime
async def test_idle_connections_are_closed_and_busy_ones_are_not() -> None:
    connection, wire = lone()
    await asyncio.sleep(100)
    connection.data_received(PLAIN)
    await asyncio.sleep(119)
    assert wire.done == ["write"]
    await asyncio.sleep(2)
    assert wire.done == ["write", "close"]


@pytest.mark.looptime
async def test_a_connection_that_is_gone_leaves_no_timer() -> None:
    connection, wire = lone()
    connection.data_received(PLAIN[:-1])
    connection.connection_lost(None)
    await asyncio.sleep(1000)
    assert wire.done == []


async def test_who_does_not_read_is_not_read_from() -> None:
    connection, wire = lone()
    connection.pause_writing()
    connection.resume_writing()
    assert wire.done == ["pause", "resume"]
    connection.connection_lost(None)


def head(*headers: str, line: str = "POST /validate HTTP/1.1") -> bytes:
    return "\r\n".join((line, *headers)).encode()


NEEDED = ("Host: x", "Content-Type: application/json", "Content-Length: 7")


def test_a_plain_head_is_read() -> None:
    assert read_head(head(*NEEDED)) == Head("/validate", 7)
    assert read_head(head(*(one.upper() for one in NEEDED[:1]), *NEEDED[1:])) == Head("/validate", 7)
    assert read_head(head(*NEEDED, line="POST /mutate?timeout=2.5s HTTP/1.1")) == Head("/mutate", 7)


@pytest.mark.parametrize(
    "given",
    [
        head(*NEEDED[1:]),
        head(NEEDED[0], NEEDED[2]),
        head(*NEEDED[:2]),
        head(*NEEDED, "Content-Length: 7"),
        head(*NEEDED, "Host: y"),
        head(*NEEDED, "Transfer-Encoding: chunked"),
        head(*NEEDED, "Content-Encoding: gzip"),
        head(*NEEDED, "Content-Length : 7"),
        head(*NEEDED, " folded: 1"),
        head(*NEEDED, "no colon"),
        head(*NEEDED[:2], "Content-Length: +7"),
        head(*NEEDED[:2], "Content-Length: 7, 7"),
        head(*NEEDED[:2], "Content-Length: "),
        head(NEEDED[0], "Content-Type: text/plain", NEEDED[2]),
        head(*NEEDED, line="PUT /validate HTTP/1.1"),
        head(*NEEDED, line="POST /validate HTTP/1.0"),
        head(*NEEDED, line="POST  /validate HTTP/1.1"),
        head(*NEEDED, line="POST https://x/validate HTTP/1.1"),
        b"",
    ],
)
def test_every_other_head_is_left_to_aiohttp(given: bytes) -> None:
    assert read_head(given) is None


def test_at_most_one_request_is_taken() -> None:
    whole = head(*NEEDED) + b"\r\n\r\n1234567"
    assert split(whole) == (Head("/validate", 7), b"1234567")
    assert split(whole[:-1]) == (Head("/validate", 7), b"123456")
    assert split(whole + b"8") is None
    assert split(whole[:-9]) is None
    assert split(b"x" * 4096 + whole) is None
    assert split(b"\r\n\r\n") is None


def test_a_refusal_has_its_own_status_line() -> None:
    assert write(Reply(400, b"{}")).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert write(Reply(400, b"{}")).endswith(b"\r\n\r\n{}")
