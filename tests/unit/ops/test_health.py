"""Probes and metrics, asked over HTTP."""

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest
import structlog

from app.ops.health import Check, HealthServer
from app.ops.metrics import Metrics
from app.ops.watchdog import Watchdog


@pytest.fixture
def checks() -> dict[str, Check]:
    return {"caches": lambda: "", "certificate": lambda: ""}


@pytest.fixture
async def server(checks: dict[str, Check]) -> AsyncIterator[HealthServer]:
    server = HealthServer(host="127.0.0.1", port=0, checks=checks, metrics=Metrics(process=True))
    await server.start()
    yield server
    await server.stop()


async def ask(server: HealthServer, path: str, **headers: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{server.port}{path}", headers=headers) as response,
    ):
        return response.status, await response.text()


async def test_ready_when_every_check_is(server: HealthServer) -> None:
    assert await ask(server, "/readyz") == (200, "[+]caches ok\n[+]certificate ok\nreadyz check passed\n")


async def test_not_ready_tells_why_and_stays_alive(server: HealthServer, checks: dict[str, Check]) -> None:
    checks["caches"] = lambda: "pods are not synced"
    code, text = await ask(server, "/readyz")
    assert code == 503
    assert "[-]caches failed: pods are not synced\n" in text
    assert await ask(server, "/healthz") == (200, "ok\n")


async def test_I4_draining_is_not_ready_and_alive(server: HealthServer) -> None:
    server.draining = True
    assert (await ask(server, "/readyz"))[0] == 503
    assert (await ask(server, "/healthz"))[0] == 200


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
async def test_metrics_are_exposed(server: HealthServer, accept: str) -> None:
    code, text = await ask(server, "/metrics", Accept=accept)
    assert code == 200
    assert "process_resident_memory_bytes" in text
    assert "_created" not in text.replace("clusters_created", "")


async def test_watchdog_names_what_blocks_the_loop() -> None:
    with structlog.testing.capture_logs() as logs:
        async with Watchdog(patience=0.05):
            await asyncio.sleep(0)
            ends = time.monotonic() + 0.4
            while time.monotonic() < ends:
                """Block the loop, as a heavy computation would."""
    told = [entry for entry in logs if entry["event"] == "The event loop is blocked"]
    assert len(told) == 1
    assert "test_watchdog_names_what_blocks_the_loop" in told[0]["stack"]


async def test_watchdog_is_quiet_while_the_loop_turns() -> None:
    with structlog.testing.capture_logs() as logs:
        async with Watchdog(patience=5):
            await asyncio.sleep(0)
    assert logs == []
