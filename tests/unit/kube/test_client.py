"""The transport against a small HTTP server, for answers a real API server seldom gives."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

import aiohttp
import pytest
from aiohttp import web

from app.kube import client
from app.kube.client import HttpTransport, connect
from app.kube.errors import DeadlineExceeded, KubeError, NotFound, TooManyRequests, Unauthorized, Unreachable
from app.kube.transport import Request, Stage
from app.ops.metrics import Metrics

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Answers as the test says and remembers the tokens it was shown."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.answer: Handler = self.fine

    async def fine(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response({})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization", ""))
        return await self.answer(request)


@pytest.fixture
async def server() -> Server:
    return Server()


@pytest.fixture
async def base(server: Server) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def kubeconfig(path: Path, server: str, user: str) -> Path:
    path.write_text(
        f"""apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {user}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""
    )
    return path


@pytest.fixture
async def transport(base: str, tmp_path: Path) -> AsyncIterator[HttpTransport]:
    made = await connect(str(kubeconfig(tmp_path / "config", base, "{token: one}")), metrics=Metrics())
    yield made
    await made.close()


GET = Request("GET", "/api/v1/nodes", {})


async def test_P9_waits_as_long_as_a_busy_server_asks(server: Server, transport: HttpTransport) -> None:
    times: list[float] = []

    async def busy(_request: web.Request) -> web.StreamResponse:
        times.append(time.monotonic())
        if len(times) == 1:
            return web.Response(status=429, headers={"Retry-After": "1"})
        return web.json_response({})

    server.answer = busy
    await transport.request(GET, deadline=5)
    assert times[1] - times[0] >= 1


async def test_P9_tells_of_a_wait_that_is_longer_than_the_deadline(
    server: Server, transport: HttpTransport
) -> None:
    async def busy(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "30"})

    server.answer = busy
    with pytest.raises(TooManyRequests) as info:
        await transport.request(GET, deadline=5)
    assert info.value.retry_after == 30


async def test_P8_a_server_that_does_not_answer_costs_the_deadline_only(
    server: Server, transport: HttpTransport
) -> None:
    async def hang(_request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    server.answer = hang
    with pytest.raises(DeadlineExceeded, match=r"GET /api/v1/nodes: no answer within 0.1 s"):
        await transport.request(GET, deadline=0.1)
    with pytest.raises(DeadlineExceeded):
        async with transport.stream(GET, deadline=0.1, silence=1):
            pass


async def test_P2_a_silent_stream_ends(server: Server, transport: HttpTransport) -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\n")
        await asyncio.Event().wait()
        return response

    server.answer = silent
    async with transport.stream(GET, deadline=5, silence=0.2) as chunks:
        assert await anext(chunks) == b"one\n"
        with pytest.raises(DeadlineExceeded, match="silent for"):
            await anext(chunks)


@pytest.mark.looptime(resolution=1e-9)
async def test_P2_P17_silence_lasts_70_seconds_of_the_watchs_time() -> None:
    class Content:
        async def readany(self) -> bytes:
            await asyncio.Event().wait()
            raise AssertionError

    class Response:
        content = Content()

    loop = asyncio.get_running_loop()
    response = cast("aiohttp.ClientResponse", Response())
    with pytest.raises(DeadlineExceeded, match="silent for 70 s"):
        await anext(client._chunks(GET, response, 70))
    assert loop.time() == 70


async def test_errors_of_the_connection_are_ours(transport: HttpTransport, tmp_path: Path) -> None:
    nowhere = kubeconfig(tmp_path / "nowhere", "http://127.0.0.1:1", "{token: one}")
    other = await connect(str(nowhere), metrics=Metrics())
    with pytest.raises(Unreachable):
        await other.request(GET, deadline=5)
    with pytest.raises(Unreachable):
        async with other.stream(GET, deadline=5, silence=1):
            pass
    await other.close()


async def test_an_answer_in_another_language_is_told_by_its_code(
    server: Server, transport: HttpTransport
) -> None:
    async def proxy(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=404, text="<html>no such backend</html>")

    server.answer = proxy
    with pytest.raises(NotFound, match="no such backend"):
        await transport.request(GET, deadline=5)


async def test_P1_P15_a_rotated_token_is_used_at_once_after_401(
    server: Server, base: str, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    config = kubeconfig(tmp_path / "config", base, f"{{tokenFile: {token}}}")
    transport = await connect(str(config), metrics=Metrics())

    async def check(request: web.Request) -> web.StreamResponse:
        known = request.headers["Authorization"].split() == ["Bearer", "new"]
        return web.json_response({}) if known else web.Response(status=401)

    server.answer = check
    with pytest.raises(Unauthorized):
        await transport.request(GET, deadline=5)
    # One more attempt, no more: a wrong token isn't hammered.
    assert len(server.tokens) == 2
    token.write_text("new\n")
    session = transport._session
    await transport.request(GET, deadline=5)
    async with transport.stream(GET, deadline=5, silence=1):
        pass
    # P1: the session outlives the token.
    assert transport._session is session
    assert not session.closed
    assert [header.strip() for header in server.tokens[2:]] == ["Bearer old", "Bearer new", "Bearer new"]
    await transport.close()


async def test_passwords_of_the_home_folder_are_not_sent(
    server: Server, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    transport = await connect(str(kubeconfig(tmp_path / "config", base, "{}")), metrics=Metrics())
    await transport.request(GET, deadline=5)
    await transport.close()
    assert server.tokens == [""]


async def test_a_proxy_of_the_environment_is_used_except_where_it_says_not_to(
    server: Server, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = str(kubeconfig(tmp_path / "config", "http://127.0.0.1:1", "{token: one}"))
    monkeypatch.setenv("http_proxy", base)
    monkeypatch.delenv("no_proxy", raising=False)
    through = await connect(config, metrics=Metrics())
    await through.request(GET, deadline=5)
    await through.close()
    assert server.tokens == ["Bearer one"]
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    past = await connect(config, metrics=Metrics())
    with pytest.raises(Unreachable):
        await past.request(GET, deadline=5)
    await past.close()


async def test_hooks_see_every_request_and_may_end_it(server: Server, transport: HttpTransport) -> None:
    seen: list[tuple[Stage, str]] = []

    async def hook(stage: Stage, request: Request) -> None:
        seen.append((stage, request.doing))
        if len(seen) == 4:
            raise RuntimeError("crash")

    transport.hooks.append(hook)
    await transport.request(GET, deadline=5)
    with pytest.raises(RuntimeError, match="crash"):
        await transport.request(Request("DELETE", "/x", {}), deadline=5)
    assert seen == [
        ("before", "GET /api/v1/nodes"),
        ("after", "GET /api/v1/nodes"),
        ("before", "DELETE /x"),
        ("after", "DELETE /x"),
    ]


async def test_requests_are_counted_by_code(server: Server, base: str, tmp_path: Path) -> None:
    metrics = Metrics()
    transport = await connect(str(kubeconfig(tmp_path / "config", base, "{token: a}")), metrics=metrics)
    await transport.request(GET, deadline=5)
    labels = {"code": "200", "method": "GET", "host": base.removeprefix("http://")}
    assert metrics.registry.get_sample_value("rest_client_requests_total", labels) == 1
    await transport.close()


@pytest.mark.parametrize("content", ["", "not: [valid", "a: b"])
async def test_a_bad_kubeconfig_is_told(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(KubeError, match="kubeconfig"):
        await connect(str(path), metrics=Metrics())


async def test_outside_of_a_pod_a_kubeconfig_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(KubeError, match="Not in a Pod"):
        await connect("", metrics=Metrics())
