"""A way to an API server that can forget: it ends a watch as a server does that no longer has its version.

It speaks plain HTTP on loopback, adds the credentials of a kubeconfig, passes everything on as it comes, and
keeps who asked for what, and when, so that it shows when an operator acts.
"""

import asyncio
import base64
import ssl
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import msgspec
import yaml
from aiohttp import web

_GONE = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}}\n'
_OF_A_HOP = frozenset(("host", "connection", "keep-alive", "transfer-encoding", "content-length", "te"))


@dataclass(frozen=True, slots=True)
class Seen:
    """A request, `at` a time of the monotonic clock; `whole` if it asks for all objects of a resource."""

    at: float
    method: str
    path: str
    whole: bool


@dataclass(eq=False, slots=True)
class _Watch:
    """A watch that is open."""

    path: str
    answer: aiohttp.ClientResponse
    gone: bool = False


@dataclass
class Proxy:
    """See the module."""

    server: str
    session: aiohttp.ClientSession
    kubeconfig: Path = Path()
    """For programs that are to go through it."""
    seen: list[Seen] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a request comes by, and when a watch is open."""
    _watches: list["_Watch"] = field(default_factory=list)

    def forget(self, plural: str) -> int:
        """Tell the watches of a resource that their version is gone (410), so that they list it anew.

        Returns how many there are.
        """
        watches = [one for one in self._watches if one.path.endswith(f"/{plural}") and not one.gone]
        for watch in watches:
            watch.gone = True
            watch.answer.close()
        return len(watches)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Pass one request on."""
        at = time.monotonic()
        watches = request.query.get("watch") == "true"
        whole = request.method == "GET" and (not watches or "sendInitialEvents" in request.query)
        self.seen.append(Seen(at, request.method, request.path, whole))
        self.changed.set()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_A_HOP}
        body = await request.read() if request.body_exists else None
        async with self.session.request(
            request.method, self.server + request.raw_path, data=body, headers=headers
        ) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _OF_A_HOP}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            if watches:
                await self._watch(_Watch(request.path, answer), response)
            else:
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            await response.write_eof()
            return response

    async def _watch(self, watch: "_Watch", response: web.StreamResponse) -> None:
        self._watches.append(watch)
        self.changed.set()
        try:
            async for chunk in watch.answer.content.iter_any():
                await response.write(chunk)
        except aiohttp.ClientError:
            if not watch.gone:
                raise
        finally:
            self._watches.remove(watch)
        if watch.gone:
            await response.write(_GONE)


@asynccontextmanager
async def proxy(kubeconfig: Path) -> AsyncIterator[Proxy]:
    """Run one in front of the API server of `kubeconfig`, which has certificates in it."""
    server, context = _access(kubeconfig)
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    timeout = aiohttp.ClientTimeout()
    with tempfile.TemporaryDirectory(prefix="bench-proxy-") as folder:
        async with aiohttp.ClientSession(
            connector=connector, timeout=timeout, auto_decompress=False
        ) as session:
            made = Proxy(server, session)
            app = web.Application(client_max_size=2**24)
            app.router.add_route("*", "/{rest:.*}", made.handle)
            runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            made.kubeconfig = Path(folder, "kubeconfig")
            made.kubeconfig.write_bytes(_kubeconfig(f"http://127.0.0.1:{runner.addresses[0][1]}"))
            try:
                yield made
            finally:
                await runner.cleanup()


def _access(kubeconfig: Path) -> tuple[str, ssl.SSLContext]:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile() as pair:  # the ssl module reads certificates of clients from files
        pair.write(base64.b64decode(user["client-certificate-data"]))
        pair.write(base64.b64decode(user["client-key-data"]))
        pair.flush()
        context.load_cert_chain(pair.name)
    return cluster["server"], context


def _kubeconfig(url: str) -> bytes:
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": url}}],
            "users": [{"name": "nobody", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
            "current-context": "proxy",
        }
    )
