"""The short way of a request, told from aiohttp's by the header in which aiohttp names itself."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest

from app.ops.metrics import Metrics
from certs.authority import create_authority, issue_leaf
from certs.serving import LiveContext
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
    def connection(self) -> Connection:
        """The server's side of it."""
        assert self.server._http is not None
        (one,) = self.server._http.connections
        assert isinstance(one, Connection)
        return one

    async def connect(self) -> None:
        trust = ssl.create_default_context(cadata=CA.pem.decode())
        self.reader, self.writer = await asyncio.open_connection(
            "127.0.0.1", self.server.port, ssl=trust, server_hostname="hook.ns.svc"
        )

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

    async def warm_up(self) -> None:
        """Ask until the short way is taken: after a long one aiohttp takes a few turns until it is idle."""
        assert not await self.is_direct(PLAIN)
        for _ in range(10):
            if await self.is_direct(PLAIN):
                return
        pytest.fail("The short way is never taken")

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


async def test_all_but_the_first_request_go_the_short_way() -> None:
    async with connected() as client:
        await client.warm_up()
        before = client.counted
        assert [await client.is_direct(PLAIN) for _ in range(4)] == [True] * 4
        assert client.counted == before + 4


async def test_both_ways_answer_alike() -> None:
    async with connected() as client:
        await client.warm_up()
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
        request(body().ljust(LONGEST + 1)),
    ],
)
async def test_what_is_not_plain_goes_the_long_way(other: bytes) -> None:
    async with connected() as client:
        await client.warm_up()
        status, _, direct = await client.ask(other)
        assert status in {200, 404, 417}
        assert not direct


async def test_a_chunk_that_looks_like_a_request_is_none_within_a_body() -> None:
    async with connected() as client:
        await client.warm_up()
        inside = request(b"  " + PLAIN)
        cut = len(inside) - len(PLAIN)
        connection = client.connection
        connection.data_received(inside[:cut])
        connection.data_received(inside[cut:])
        status, content, direct = await client.read()
        assert (status, direct) == (400, False)
        assert b"can't be read" in content
        # One answer to one request; then the long way, as nothing says where a request begins.
        assert not await client.is_direct(PLAIN)


async def test_a_chunk_that_looks_like_a_request_is_none_within_a_head() -> None:
    async with connected() as client:
        await client.warm_up()
        client.connection.data_received(b"POST /validate HTTP/1.1\r\nX-Half: ")
        client.connection.data_received(PLAIN)
        status, _, direct = await client.read()
        assert (status, direct) == (200, False)


async def test_pipelined_requests_are_all_answered_in_order() -> None:
    async with connected() as client:
        await client.warm_up()
        other = request(body(uid="another"))
        client.writer.write(PLAIN + other + PLAIN)
        answers = [await client.read() for _ in range(3)]
        assert [b"another" in content for _, content, _ in answers] == [False, True, False]
        assert not any(direct for _, _, direct in answers)


async def test_a_draining_server_asks_to_close_so_it_goes_the_long_way() -> None:
    async with connected() as client:
        await client.warm_up()
        client.server.drain()
        assert not await client.is_direct(PLAIN)
        assert await client.reader.read() == b""


async def test_a_short_answer_counts_against_idleness() -> None:
    async with connected() as client:
        await client.warm_up()
        connection = client.connection
        connection._next_keepalive_close_time = 0.0
        assert await client.is_direct(PLAIN)
        assert connection._next_keepalive_close_time > asyncio.get_running_loop().time() + 90


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


def test_only_exactly_one_request_is_taken() -> None:
    whole = head(*NEEDED) + b"\r\n\r\n1234567"
    assert split(whole) == ("/validate", b"1234567")
    assert split(whole + b"8") is None
    assert split(whole[:-1]) is None
    assert split(b"x" * 4096 + whole) is None
    assert split(b"\r\n\r\n") is None


def test_a_refusal_has_its_own_status_line() -> None:
    assert write(Reply(400, b"{}")).startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert write(Reply(400, b"{}")).endswith(b"\r\n\r\n{}")
