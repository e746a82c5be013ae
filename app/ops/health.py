"""Probes and metrics over plain HTTP, from the first moment of the process to its last.

``/healthz`` answers whenever the event loop turns, which is all that a restart could mend: it knows of no
leadership, and an API server that is away is no reason to restart either. ``/readyz`` is about this
replica's Service, the webhooks: it asks named checks. ``/metrics`` is for Prometheus.
"""

from collections.abc import Callable, Mapping

from aiohttp import web
from prometheus_client import exposition

from app.ops.metrics import Metrics

Check = Callable[[], str]
"""Returns "" when all is well, else what is missing. It must be quick and must not raise."""


class HealthServer:
    """Serves the three paths."""

    def __init__(self, *, host: str, port: int, checks: Mapping[str, Check], metrics: Metrics) -> None:
        """Make one; ``checks`` may grow until the process is ready. Port 0 takes a free one."""
        self._host = host
        self._wanted_port = port
        self._checks = checks
        self._metrics = metrics
        self._runner: web.AppRunner | None = None
        self.draining = False
        """Set when the process is about to stop: it isn't ready any more, and still answers."""

    async def start(self) -> None:
        """Begin to listen. Raises ``OSError`` where the address can't be had."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/livez", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._expose)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._wanted_port).start()

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def port(self) -> int:
        """The port it listens on; valid between ``start`` and ``stop``."""
        if self._runner is None:
            raise RuntimeError("The health server isn't started")
        port: int = self._runner.addresses[0][1]
        return port

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _request: web.Request) -> web.Response:
        """Answer in the words of Kubernetes' own components, a line a check."""
        verdicts = {name: check() for name, check in self._checks.items()}
        if self.draining:
            verdicts["shutdown"] = "the process is stopping"
        lines = [f"[-]{name} failed: {why}" if why else f"[+]{name} ok" for name, why in verdicts.items()]
        failed = any(verdicts.values())
        lines.append("readyz check failed" if failed else "readyz check passed")
        return web.Response(text="\n".join(lines) + "\n", status=503 if failed else 200)

    async def _expose(self, request: web.Request) -> web.Response:
        encode, content_type = exposition.choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._metrics.registry), headers={"Content-Type": content_type})
