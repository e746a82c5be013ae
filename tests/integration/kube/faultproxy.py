"""A proxy between a client and a real API server that does to the connection what networks do.

It speaks plain HTTP on loopback to the client and TLS, with an administrator's credentials, to the server.
Faults are either in force until healed (``cut``, ``stall``, ``delay``, ``split``) or planned for the next
requests that match (``plan``).
"""

import asyncio
import io
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import aiohttp
from aiohttp import web

from app.kube.client import HttpTransport, connect
from app.ops.metrics import Metrics

Kind = Literal["list", "watch", "other"]


@dataclass(frozen=True)
class Seen:
    """A request that came by. ``at`` is of the monotonic clock."""

    at: float
    kind: Kind
    method: str
    path: str
    query: dict[str, str]


@dataclass
class Plan:
    """A fault for the next ``times`` requests that match."""

    matches: Callable[[Seen], bool]
    status: int
    """The HTTP status to answer with; 200 sends ``status_event`` as an event of a watch."""
    reason: str
    times: int
    retry_after: int = 0


@dataclass(eq=False)
class Stream:
    """A watch that goes through."""

    request: web.Request
    stalled: bool = False
    break_in_event: bool = False


@dataclass
class FaultProxy:
    """See the module. ``url`` is what the client connects to."""

    upstream: HttpTransport
    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    streams: set[Stream] = field(default_factory=set)
    delay: float = 0.0
    split: int = 0
    is_cut: bool = False
    black_hole: bool = False

    def cut(self) -> None:
        """Break every connection and let no new one work, until healed."""
        self.is_cut = True
        self.drop()

    def drop(self) -> None:
        """Break the open watches, once."""
        for stream in list(self.streams):
            _abort(stream.request)

    def stall(self) -> None:
        """Let the open watches bring nothing more, without closing them."""
        for stream in self.streams:
            stream.stalled = True

    def break_in_event(self) -> None:
        """Reset each open watch in the middle of the next event it brings."""
        for stream in self.streams:
            stream.break_in_event = True

    def heal(self) -> None:
        """Let everything through again; what is broken or stalled stays so."""
        self.is_cut = self.black_hole = False
        self.delay = 0.0
        self.split = 0

    def plan(
        self,
        kind: Kind,
        status: int,
        reason: str,
        *,
        times: int = 1,
        retry_after: int = 0,
        page: bool = False,
    ) -> None:
        """Answer the next requests of ``kind`` with a failure; with ``page`` only further pages of lists."""

        def matches(seen: Seen) -> bool:
            return seen.kind == kind and page is ("continue" in seen.query)

        self.plans.append(Plan(matches, status, reason, times, retry_after))

    def plan_event(self, status: int, reason: str, *, times: int = 1) -> None:
        """Let the next watches open and then bring nothing but that failure."""
        self.plan("watch", -status, reason, times=times)

    def forbid_streamed_lists(self) -> None:
        """Answer as a server does that can't stream lists."""
        self.plans.append(
            Plan(lambda seen: "sendInitialEvents" in seen.query, 422, "Invalid", times=1_000_000)
        )

    def count(self, kind: Kind) -> int:
        return sum(one.kind == kind for one in self.seen)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        seen = Seen(time.monotonic(), _kind(request), request.method, request.path, dict(request.query))
        self.seen.append(seen)
        if self.black_hole:
            await asyncio.Event().wait()
        if self.is_cut:
            _abort(request)
            raise ConnectionResetError
        await asyncio.sleep(self.delay)
        for plan in self.plans:
            if plan.times > 0 and plan.matches(seen):
                plan.times -= 1
                return await _fail(request, plan)
        return await self._forward(request, seen)

    async def _forward(self, request: web.Request, seen: Seen) -> web.StreamResponse:
        headers = {key: request.headers[key] for key in ("Accept", "Content-Type") if key in request.headers}
        authorization = await self.upstream._credentials.header()
        if authorization:
            headers["Authorization"] = authorization
        answer = await self.upstream._session.request(
            request.method,
            self.upstream._base + request.path,
            params=request.query,
            data=io.BytesIO(await request.read()),
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(),
        )
        response = web.StreamResponse(status=answer.status)
        response.content_type = "application/json"
        try:
            await response.prepare(request)
            if seen.kind == "watch":
                await self._stream(request, answer, response)
            else:
                await response.write(await answer.read())
            await response.write_eof()
        except aiohttp.ClientConnectionResetError:
            # The client went away, or was made to.
            return response
        finally:
            answer.close()
        return response

    async def _stream(
        self, request: web.Request, answer: aiohttp.ClientResponse, response: web.StreamResponse
    ) -> None:
        stream = Stream(request)
        self.streams.add(stream)
        try:
            async for chunk in answer.content.iter_any():
                if stream.stalled:
                    # The client must find out by itself; its end of the connection cancels this.
                    await asyncio.Event().wait()
                if stream.break_in_event:
                    await response.write(chunk[: len(chunk) // 2])
                    await asyncio.sleep(0.05)
                    _abort(request)
                    return
                await self._write(response, chunk)
        finally:
            self.streams.discard(stream)

    async def _write(self, response: web.StreamResponse, chunk: bytes) -> None:
        size = self.split or len(chunk)
        for at in range(0, len(chunk), size):
            await response.write(chunk[at : at + size])
            await asyncio.sleep(self.delay)


def _kind(request: web.Request) -> Kind:
    if request.query.get("watch") == "true":
        return "watch"
    return "list" if request.method == "GET" and "limit" in request.query else "other"


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


async def _fail(request: web.Request, plan: Plan) -> web.StreamResponse:
    code = abs(plan.status)
    status = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": plan.reason,
        "message": "planned",
    }
    if plan.status < 0:
        return web.Response(text=json.dumps({"type": "ERROR", "object": status}) + "\n")
    headers = {"Retry-After": str(plan.retry_after)} if plan.retry_after else {}
    return web.json_response(status, status=code, headers=headers)


@asynccontextmanager
async def fault_proxy(kubeconfig: Path) -> AsyncIterator[FaultProxy]:
    """Run a proxy to the API server of ``kubeconfig``."""
    upstream = await connect(str(kubeconfig), metrics=Metrics())
    proxy = FaultProxy(upstream)
    app = web.Application(client_max_size=2**24)
    app.router.add_route("*", "/{rest:.*}", proxy.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield proxy
    finally:
        await runner.cleanup()
        await upstream.close()


def kubeconfig_for(url: str, path: Path) -> Path:
    """Write a kubeconfig for the proxy, which needs no credentials."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "proxy", "cluster": {"server": url}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
        "current-context": "proxy",
    }
    path.write_text(json.dumps(config))
    return path
