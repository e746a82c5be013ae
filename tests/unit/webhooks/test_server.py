import asyncio
import gzip
import io
import json
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from structlog.testing import capture_logs

from app.ops.metrics import Metrics
from certs.authority import create_authority, issue_leaf
from certs.serving import LiveContext
from tests.unit.webhooks.reviews import Object, body, cluster
from webhooks.protocol import ALLOWED, Request, Response
from webhooks.review import MAX_BODY
from webhooks.routes import hooks
from webhooks.server import KEEP_ALIVE, WebhookServer

NOW = datetime.now(UTC)
CA = create_authority(name="webhook-ca", now=NOW, lifetime=timedelta(days=30))
LEAF = issue_leaf(CA, names=("hook.ns.svc",), now=NOW, lifetime=timedelta(days=7))
JSON = {"Content-Type": "application/json"}


class Running:
    """A server and a client of it."""

    def __init__(self, server: WebhookServer, session: aiohttp.ClientSession, metrics: Metrics) -> None:
        self.server = server
        self.session = session
        self.metrics = metrics

    async def post(
        self, path: str, content: bytes, headers: dict[str, str] = JSON, method: str = "POST"
    ) -> tuple[int, Object, str]:
        url = f"https://hook.ns.svc:{self.server.port}{path}"
        async with self.session.request(method, url, data=io.BytesIO(content), headers=headers) as answer:
            text = await answer.text()
            return (
                answer.status,
                json.loads(text)["response"] if text else {},
                answer.headers.get("Connection", ""),
            )

    def counted(self, path: str, code: int) -> float:
        labels = {"webhook": path, "code": str(code)}
        name = "controller_runtime_webhook_requests_total"
        return self.metrics.registry.get_sample_value(name, labels) or 0


class Loopback(aiohttp.abc.AbstractResolver):
    """Finds every name at 127.0.0.1."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[aiohttp.abc.ResolveResult]:
        return [
            aiohttp.abc.ResolveResult(
                hostname=host, host="127.0.0.1", port=port, family=family, proto=0, flags=0
            )
        ]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def running(**extra: object) -> AsyncIterator[Running]:
    live, metrics = LiveContext(), Metrics()
    live.load(LEAF.pem, LEAF.key_pem)
    server = WebhookServer(
        hooks={**hooks(), **extra},  # type: ignore[dict-item]  # the hooks of the tests
        ssl_context=live.ssl_context,
        metrics=metrics,
        host="127.0.0.1",
        port=0,
    )
    await server.start()
    trust = ssl.create_default_context(cadata=CA.pem.decode())
    connector = aiohttp.TCPConnector(ssl=trust, resolver=Loopback(), family=socket.AF_INET)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Running(server, session, metrics)
    await server.stop()


async def test_reviews_are_answered_over_tls() -> None:
    async with running() as here:
        status, response, _ = await here.post("/mutate?timeout=10s", body())
        assert status == 200
        assert response["patchType"] == "JSONPatch"
        status, response, _ = await here.post("/validate?timeout=10s", body(object=cluster(size=8)))
        assert status == 200
        assert response["status"]["code"] == 422


@pytest.mark.parametrize(
    ("content", "headers", "method", "path", "expected"),
    [
        (b"", JSON, "POST", "/validate", 400),
        (b"{", JSON, "POST", "/validate", 400),
        (body(), {"Content-Type": "text/plain"}, "POST", "/validate", 415),
        (body(), {"Content-Type": "application/json; charset=utf-8"}, "POST", "/validate", 200),
        (gzip.compress(body()), JSON | {"Content-Encoding": "gzip"}, "POST", "/validate", 415),
        (body(), JSON, "PUT", "/validate", 405),
        (b"", {}, "GET", "/validate", 405),
        (body(), JSON, "POST", "/elsewhere", 404),
        (body(), JSON, "POST", "/", 404),
        (b" " * (MAX_BODY + 1), JSON, "POST", "/validate", 413),
    ],
)
async def test_bad_requests_are_answered_within_the_protocol(
    content: bytes, headers: dict[str, str], method: str, path: str, expected: int
) -> None:
    async with running() as here:
        status, response, _ = await here.post(path, content, headers, method)
        assert status == expected
        assert response["allowed"] is (expected == 200)


async def test_object_and_old_object_of_3_mb_each_pass() -> None:
    big = {**cluster(), "metadata": {"name": "example", "annotations": {"a": "x" * 3_000_000}}}
    async with running() as here:
        status, response, _ = await here.post("/validate", body("UPDATE", object=big, oldObject=big))
        assert (status, response["allowed"]) == (200, True)


async def test_big_reviews_are_judged_beside_the_loop() -> None:
    threads = set()

    def note(_request: Request) -> Response:
        threads.add(threading.current_thread())
        return ALLOWED

    async with running(**{"/note": note}) as here:
        await here.post("/note", body())
        await here.post("/note", body(object={"metadata": {"x": "x" * 100_000}}))
    assert len(threads) == 2


async def test_timeout_is_obeyed() -> None:
    release = threading.Event()

    def slow(_request: Request) -> Response:
        release.wait(30)
        return ALLOWED

    big = body(object={"metadata": {"x": "x" * 100_000}})
    async with running(**{"/slow": slow}) as here:
        try:
            async with asyncio.timeout(10):
                status, _, _ = await here.post("/slow?timeout=50ms", big)
            assert status == 504
        finally:
            release.set()


@pytest.mark.parametrize("given", ["", "nonsense", "10", "-1s", "9999999m", "0s", "1h", "%00"])
async def test_strange_timeouts_do_no_harm(given: str) -> None:
    async with running() as here:
        status, _, _ = await here.post(f"/validate?timeout={given}", body())
        assert status in {200, 504}


async def test_W33_W35_fault_is_500_is_logged_and_leaks_nothing() -> None:
    def broken(_request: Request) -> Response:
        raise RuntimeError("inner detail")

    with capture_logs() as logged:
        async with running(**{"/broken": broken}) as here:
            status, response, _ = await here.post("/broken", body())
            assert status == 500
            assert response["uid"]
            assert "inner detail" not in json.dumps(response)
            assert here.counted("/broken", 500) == 1
    (line,) = logged
    assert line["webhook"] == "/broken"
    assert "inner detail" in str(line["exc_info"])


async def test_requests_are_counted_by_path_and_code() -> None:
    async with running() as here:
        await here.post("/validate", body())
        await here.post("/validate", b"")
        await here.post("/mutate", body())
        assert here.counted("/validate", 200) == 1
        assert here.counted("/validate", 400) == 1
        assert here.counted("/mutate", 200) == 1
        latency = here.metrics.registry.get_sample_value(
            "controller_runtime_webhook_latency_seconds_count", {"webhook": "/validate"}
        )
        assert latency == 2


def test_keep_alive_outlasts_the_clients() -> None:
    assert KEEP_ALIVE > 90


@pytest.mark.parametrize("headers", [JSON, JSON | {"X-Unknown": "1"}], ids=["short", "long"])
async def test_connection_is_kept_for_the_next_request(headers: dict[str, str]) -> None:
    async with running() as here:
        await here.post("/validate", body(), headers)
        assert here.server._http is not None
        connections = [*here.server._http._plain, *here.server._http.connections]
        assert len(connections) == 1
        await here.post("/validate", body(), headers)
        assert [*here.server._http._plain, *here.server._http.connections] == connections


async def test_draining_server_answers_and_asks_to_close() -> None:
    async with running() as here:
        _, _, before = await here.post("/validate", body())
        assert before.lower() != "close"
        here.server.drain()
        for _ in range(3):
            status, _, after = await here.post("/validate", body())
            assert (status, after) == (200, "close")


async def test_stop_waits_for_the_request_under_way() -> None:
    entered, release = threading.Event(), threading.Event()

    def slow(_request: Request) -> Response:
        entered.set()
        release.wait(30)
        return ALLOWED

    big = body(object={"metadata": {"x": "x" * 100_000}})
    async with running(**{"/slow": slow}) as here:
        request = asyncio.create_task(here.post("/slow", big))
        await asyncio.to_thread(entered.wait, 10)
        stop = asyncio.create_task(here.server.stop(grace=10))
        await asyncio.sleep(0)
        release.set()
        status, _, _ = await request
        assert status == 200
        await stop


async def test_stopped_server_listens_no_more() -> None:
    async with running() as here:
        port = here.server.port
        await here.server.stop()
        with pytest.raises(OSError, match=str(port)):
            await asyncio.open_connection("127.0.0.1", port)
