"""An operator in this process, against a real API server, with models of etcd for members."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.config import Config, load
from app.etcd.client import Dialer
from app.kube.client import connect
from app.kube.transport import Hook, Request, Stage
from app.ops.metrics import Metrics
from app.runtime import Operator

FLAGS = (
    "--create-crd=false",
    "--webhook=off",
    "--listen-addr=127.0.0.1:0",
    "--lease-duration=15s",
)


class Killed(BaseException):
    """The process is gone; not an `Exception`, since nothing may survive it."""


def config(namespace: str, kubeconfig: Path, *flags: str) -> Config:
    """The settings of an operator of one namespace."""
    arguments = [*FLAGS, f"--kubeconfig={kubeconfig}", *flags]
    return load(arguments, {"MY_POD_NAMESPACE": namespace, "MY_POD_NAME": "test"})


class CrashAt:
    """Ends the operator at one call: all calls from then on fail as they do for a process that is gone.

    Calls are counted from the first that is about a cluster: those of the election and the watches are
    not. ``stage`` says whether the call that ends it is still carried out.
    """

    def __init__(self, number: int, stage: Stage) -> None:
        self._left = number
        self._stage = stage
        self.dead = asyncio.Event()
        self.seen: list[str] = []

    async def __call__(self, stage: Stage, request: Request) -> None:
        if self.dead.is_set():
            raise Killed
        if stage != self._stage or "/leases" in request.path or "watch" in request.query:
            return
        self.seen.append(request.doing)
        self._left -= 1
        if self._left < 0:
            self.dead.set()
            raise Killed


@asynccontextmanager
async def operator(settings: Config, dialer: Dialer, *hooks: Hook) -> AsyncIterator[asyncio.Task[None]]:
    """Run an operator for the length of the block; yields its task."""
    async with running(settings, dialer, *hooks) as (_, task):
        yield task


@asynccontextmanager
async def running(
    settings: Config, dialer: Dialer, *hooks: Hook
) -> AsyncIterator[tuple[Operator, asyncio.Task[None]]]:
    """Run an operator for the length of the block; yields it and its task."""
    metrics = Metrics()
    transport = await connect(str(settings.kubeconfig), metrics=metrics)
    transport.hooks.extend(hooks)
    stop = asyncio.Event()
    made = Operator(settings, transport, metrics=metrics, dialer=dialer)
    task = asyncio.create_task(made.run(stop))
    try:
        yield made, task
    finally:
        stop.set()
        await asyncio.wait([task])
        await transport.close()
