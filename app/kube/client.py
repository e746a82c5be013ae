"""The transport over HTTP: one aiohttp session and one TLS context for the life of the process.

The token is put on each request, so that a new one needs no new session (kopf#980: a re-login closed the
shared session under the watches, for good). Every request has a deadline, which covers the wait that a
busy server asks for, and a second try with a token read anew.
"""

import asyncio
import io
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from app.kube import library
from app.kube.credentials import Credentials, from_kubeconfig, from_service_account
from app.kube.errors import DeadlineExceeded, KubeError, Unreachable, error_of
from app.kube.transport import Hook, Request, Stage
from app.ops.metrics import Metrics

_rest = library.load()[1]

USER_AGENT = "etcd-operator"

_RETRIED = frozenset({429, 503})
"""Codes that, with a Retry-After, mean that the server did nothing yet and wants to be asked again."""


class HttpTransport:
    """A ``Transport`` to a real API server. Make it with ``connect``, inside of the event loop."""

    def __init__(self, configuration: Any, credentials: Credentials, *, metrics: Metrics) -> None:
        self._base: str = configuration.host.rstrip("/")
        self._host = urlsplit(self._base).netloc
        self._credentials = credentials
        self._metrics = metrics
        self._session = _session(configuration)
        self._extra: dict[str, Any] = {"allow_redirects": False}
        if configuration.tls_server_name:
            self._extra["server_hostname"] = configuration.tls_server_name
        proxy = configuration.proxy or _proxy_of_environment(self._base)
        if proxy:
            self._extra |= {"proxy": proxy, "proxy_headers": configuration.proxy_headers}
        self.hooks: list[Hook] = []

    async def close(self) -> None:
        """Close the session; requests that are under way fail."""
        await self._session.close()

    async def request(self, request: Request, *, deadline: float) -> bytes:
        """Carry out a request, as ``Transport`` says."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + deadline
        try:
            async with asyncio.timeout_at(ends):
                while True:
                    response = await self._send(request)
                    async with response:
                        body = await response.read()
                    if response.status < 300:
                        return body
                    error = _error(request, response, body)
                    if not 0 < error.retry_after < ends - loop.time() or error.code not in _RETRIED:
                        raise error
                    await asyncio.sleep(error.retry_after)
        except TimeoutError as error:
            raise DeadlineExceeded(f"{request.doing}: no answer within {deadline:.1f} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{request.doing}: {_text(error)}") from error

    @asynccontextmanager
    async def stream(
        self, request: Request, *, deadline: float, silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream, as ``Transport`` says."""
        try:
            async with asyncio.timeout(deadline):
                response = await self._send(request)
                if response.status >= 300:
                    async with response:
                        raise _error(request, response, await response.read())
        except TimeoutError as error:
            raise DeadlineExceeded(f"{request.doing}: not open within {deadline:.1f} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{request.doing}: {_text(error)}") from error
        try:
            async with aclosing(_chunks(request, response, silence)) as chunks:
                yield chunks
        finally:
            # Not released to the pool: the rest of the stream would have to be read first. And not closed in
            # the manner of TLS: to a peer that is dead it would linger until that has timed out.
            connection = response.connection
            if connection is not None and connection.transport is not None:
                connection.transport.abort()
            response.close()

    async def _send(self, request: Request) -> aiohttp.ClientResponse:
        response = await self._send_once(request, renew=False)
        if response.status == 401:
            response.release()
            response = await self._send_once(request, renew=True)
        return response

    async def _send_once(self, request: Request, *, renew: bool) -> aiohttp.ClientResponse:
        headers = {
            "Accept": "application/json",
            # Lists are read over a fast network; to unpack them would take the loop's time.
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
        }
        authorization = await self._credentials.header(renew=renew)
        if authorization:
            headers["Authorization"] = authorization
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        await self._call_hooks("before", request)
        code = "<error>"
        try:
            response = await self._session.request(
                request.method,
                self._base + request.path,
                params=request.query,
                # As a stream, which is written in pieces: a large body in one would hold the loop up.
                data=None if request.body is None else io.BytesIO(request.body),
                headers=headers,
                # The deadlines are asyncio's: those of aiohttp are rounded up to whole seconds.
                timeout=aiohttp.ClientTimeout(),
                **self._extra,
            )
            code = str(response.status)
        finally:
            self._metrics.requests.labels(code, request.method, self._host).inc()
        try:
            await self._call_hooks("after", request)
        except BaseException:
            response.close()
            raise
        return response

    async def _call_hooks(self, stage: Stage, request: Request) -> None:
        for hook in self.hooks:
            await hook(stage, request)


def _session(configuration: Any) -> aiohttp.ClientSession:
    """Make a session with the library's TLS settings.

    The library's own trusts the environment: it would read ~/.netrc for each request. And its read buffer
    holds whole objects, which is not needed where lines are split as they come.
    """
    library_session: aiohttp.ClientSession = _rest.RESTClientObject(configuration).pool_manager
    connector = library_session.connector
    library_session.detach()
    return aiohttp.ClientSession(connector=connector)


def _proxy_of_environment(url: str) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a URL, as client-go goes by."""
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _error(request: Request, response: aiohttp.ClientResponse, body: bytes) -> KubeError:
    return error_of(response.status, body, retry_after=_retry_after(response), doing=request.doing)


def _retry_after(response: aiohttp.ClientResponse) -> float:
    """Return the seconds of a Retry-After, 0 for none; Kubernetes never sends the form with a date."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else 0.0


async def _chunks(
    request: Request, response: aiohttp.ClientResponse, silence: float
) -> AsyncGenerator[bytes, None]:
    try:
        while True:
            async with asyncio.timeout(silence):
                chunk = await response.content.readany()
            if not chunk:
                return
            yield chunk
    except TimeoutError as error:
        raise DeadlineExceeded(f"{request.doing}: silent for {silence:.0f} s") from error
    except (aiohttp.ClientError, OSError) as error:
        raise Unreachable(f"{request.doing}: {_text(error)}") from error


async def connect(kubeconfig: str, *, metrics: Metrics) -> HttpTransport:
    """Make a transport for ``kubeconfig``, or from the Pod's service account where that is empty.

    Nothing is sent yet. Raises ``KubeError`` where the credentials can't be read.
    """
    configuration, credentials = await from_kubeconfig(kubeconfig) if kubeconfig else from_service_account()
    return HttpTransport(configuration, credentials, metrics=metrics)
