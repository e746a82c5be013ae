"""The HTTPS server that the API server asks: one path for each hook, HTTP/1.1, connections kept alive.

It sits directly on aiohttp's low-level server: two paths need no router, and every layer less is a shorter
wait for whoever runs kubectl; most reviews don't even pass that (see `webhooks.direct`). Reviews are answered
on the event loop, in well under a millisecond; big ones go to a thread, so that judging them holds up nobody
else.

Stopping is gentle to clients that hold connections open. While the Pod's endpoint is being taken out of the
Service, requests still arrive, on new connections and on old ones; each is answered, with ``Connection:
close``, so that its client sends no second request on a connection that is about to go. Only then are the
rest closed.
"""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any, Final, TypeAlias

from aiohttp import StreamReader, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.web_protocol import RequestHandler

from app.ops.logging import get_logger
from app.ops.metrics import Metrics
from webhooks.direct import LONGEST, Connection
from webhooks.review import MAX_BODY, Hook, Reply, refuse, review

_log = get_logger(__name__)

KEEP_ALIVE: Final = 120.0
"""Seconds. Go's clients drop an idle connection after 90; the server must not be the first, or a request may
be under way on a connection that it closes."""

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_TIMEOUT: Final = 10.0
"""Seconds, where the client names none: the API server's default ``timeoutSeconds``."""

_LONGEST_TIMEOUT: Final = 30.0
"""Seconds; ``timeoutSeconds`` can't be more."""

_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m)", re.ASCII)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


class WebhookServer:
    """Serves `hooks`, by path, over TLS.

    With port 0 any free one is taken; ``port`` says which after `start`.
    """

    def __init__(
        self,
        *,
        hooks: Mapping[str, Hook],
        ssl_context: ssl.SSLContext,
        metrics: Metrics,
        host: str = "0.0.0.0",  # noqa: S104 - the Pod's own address is what its Service reaches
        port: int = 9443,
    ) -> None:
        self._hooks = hooks
        self._ssl_context = ssl_context
        self._metrics = metrics
        self._host = host
        self.port = port
        self._draining = False
        self._loop: asyncio.AbstractEventLoop
        self._http: _Connections | None = None
        self._listener: asyncio.Server | None = None
        self._latency = {path: metrics.webhook_latency.labels(path) for path in hooks}
        self._in_flight = {path: metrics.webhook_in_flight.labels(path) for path in hooks}
        self._judged = {path: metrics.webhook_requests.labels(path, "200") for path in hooks}

    async def start(self) -> None:
        """Listen; raises ``OSError`` if the address is taken."""
        self._loop = asyncio.get_running_loop()
        self._http = _Connections(
            self._handle,
            at_once=self._at_once,
            request_factory=self._request,
            access_log=None,
            keepalive_timeout=KEEP_ALIVE,
            auto_decompress=False,
        )
        self._listener = await self._loop.create_server(
            self._http.accept, self._host, self.port, ssl=self._ssl_context, backlog=512, reuse_address=True
        )
        self.port = self._listener.sockets[0].getsockname()[1]

    def drain(self) -> None:
        """Go on answering, but ask each client to close its connection after the answer."""
        self._draining = True

    async def stop(self, *, grace: float = 5.0) -> None:
        """Accept no more, give requests under way `grace` seconds to end, close all connections."""
        self.drain()
        if self._listener is None or self._http is None:
            return
        self._listener.close()
        self._http.close_plain()
        self._http.pre_shutdown()
        await self._http.shutdown(grace)
        await self._http.closed(grace)
        self._listener = self._http = None

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=MAX_BODY)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        hook = self._hooks.get(path)
        if hook is None:
            return self._respond(refuse(404, "There is no webhook at this path"))
        begin = perf_counter()
        in_flight = self._in_flight[path]
        in_flight.inc()
        try:
            reply = await self._answer(request, hook)
        finally:
            in_flight.dec()
        self._note(path, reply, perf_counter() - begin)
        return self._respond(reply)

    def _at_once(self, path: str, body: bytes) -> Reply | None:
        hook = self._hooks.get(path)
        if hook is None or self._draining:
            return None
        begin = perf_counter()
        reply = review(body, hook)
        self._note(path, reply, perf_counter() - begin)
        return reply

    def _note(self, path: str, reply: Reply, seconds: float) -> None:
        self._latency[path].observe(seconds)
        if reply.status == 200:
            self._judged[path].inc()
        else:
            self._metrics.webhook_requests.labels(path, str(reply.status)).inc()
        if reply.fault is not None:
            _log.error("Failed to judge a review", webhook=path, exc_info=reply.fault)

    async def _answer(self, request: web.BaseRequest, hook: Hook) -> Reply:
        if request.method != "POST":
            return refuse(405, "Reviews are sent by POST")
        if request.content_type != "application/json" or "Content-Encoding" in request.headers:
            return refuse(415, "The content is not plain application/json")
        try:
            async with asyncio.timeout(_timeout(request.rel_url.query.get("timeout"))):
                body = await request.read()
                if len(body) > LONGEST:
                    return await asyncio.to_thread(review, body, hook)
                return review(body, hook)
        except TimeoutError:
            return refuse(504, "The review took longer than its timeout")
        except web.HTTPRequestEntityTooLarge:
            return refuse(413, f"The review has more than {MAX_BODY} bytes")

    def _respond(self, reply: Reply) -> web.StreamResponse:
        response = web.Response(status=reply.status, body=reply.body, content_type="application/json")
        if self._draining:
            response.force_close()
        return response


class _Connections(web.Server):
    """aiohttp's server behind the short way.

    It can also say when its connections are gone, TLS's farewell included.
    """

    def __init__(
        self, handler: Handler, *, at_once: Callable[[str, bytes], Reply | None], **settings: Any
    ) -> None:
        super().__init__(handler, **settings)
        self.at_once = at_once
        self._plain: set[Connection] = set()
        self._transports: dict[RequestHandler, asyncio.Transport] = {}
        self._none_left = asyncio.Event()

    def accept(self) -> Connection:
        """Make the protocol of a new connection."""
        return Connection(self, idle=KEEP_ALIVE)

    def long_way(self) -> RequestHandler:
        """Make aiohttp's protocol."""
        return self()

    def came(self, connection: Connection) -> None:
        """A client has come, whose requests are plain so far."""
        self._plain.add(connection)

    def went(self, connection: Connection) -> None:
        """It has gone, or aiohttp has it from now on."""
        self._plain.discard(connection)
        self._note_absence()

    def close_plain(self) -> None:
        """Close the connections that aiohttp knows nothing of."""
        for connection in tuple(self._plain):
            connection.close()

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """A client has come."""
        self._transports[handler] = transport
        super().connection_made(handler, transport)

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """A client has gone."""
        super().connection_lost(handler, exc)
        self._transports.pop(handler, None)
        self._note_absence()

    async def closed(self, seconds: float) -> None:
        """Wait until all connections that are being closed are closed; cut off those that take too long."""
        self._none_left.clear()
        self._note_absence()
        try:
            async with asyncio.timeout(seconds):
                await self._none_left.wait()
        except TimeoutError:
            for transport in tuple(self._transports.values()):
                transport.abort()
            for connection in tuple(self._plain):
                connection.abort()

    def _note_absence(self) -> None:
        if not self._transports and not self._plain:
            self._none_left.set()


def _timeout(given: str | None) -> float:
    """Seconds to answer in, from the ``timeout`` parameter as Go writes durations, such as ``10s``."""
    if given is None:
        return _TIMEOUT
    parts = _DURATION.findall(given)
    if not parts or "".join(number + unit for number, unit in parts) != given:
        return _TIMEOUT
    return min(sum(float(number) * _UNITS[unit] for number, unit in parts), _LONGEST_TIMEOUT)
