"""Real etcd members as plain processes on loopback.

They are started with the very arguments and variables that members in a Pod get, with the wildcard addresses
replaced by free ports of 127.0.0.1. A member's peer URL carries its port, so members need no DNS.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from app.etcd import flags
from app.etcd.endpoint import TLS, Endpoint
from app.etcd.version import parse
from tests.cluster import binaries, packages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LOOPBACK = "127.0.0.1"
ANY = "0.0.0.0"
_TOOLS = {"3.3": "etcd-3.3", "3.5": "etcd-3.5", "3.6": "etcd-3.6", "3.7": "etcd-3.7"}
_STOP_SECONDS = 10


def program(version: str) -> Path:
    """The etcd server of a version."""
    series = version.rpartition(".")[0]
    if series in _TOOLS:
        return binaries.ensure(_TOOLS[series])["etcd"]
    return packages.extracted("etcd-server", version=version) / "usr/bin/etcd"


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on.

    They are below those that the kernel gives to outgoing connections, one of which could have taken a port
    before its etcd listens.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as holder, contextlib.suppress(OSError):
            holder.bind((LOOPBACK, port))
            if port not in found:
                found.append(port)
    return found


@dataclass(kw_only=True)
class Process:
    """One member: its identity, its data and, while it runs, its process."""

    name: str
    version: str
    folder: Path
    peer_tls: flags.Certificates | None = None
    client_tls: flags.Certificates | None = None
    tls: TLS | None = None
    server_name: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    extra: Sequence[str] = ()
    wildcard: bool = False  # whether it listens on all addresses, as in a Pod
    _running: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.peer_port, self.client_port, self.metrics_port = free_ports(3)
        self.folder.mkdir(parents=True)

    @property
    def peer_url(self) -> str:
        return f"{'https' if self.peer_tls else 'http'}://{LOOPBACK}:{self.peer_port}"

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(LOOPBACK, self.client_port, self.tls, self.server_name)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self, *, cluster: Mapping[str, str], state: str = "new", token: str = "") -> Self:
        assert self._running is None, f"{self.name} runs already"
        with (self.folder / "log").open("ab") as log:
            self._running = subprocess.Popen(
                [program(self.version), *self._arguments(), *self.extra],
                env=self._environment(cluster, state, token),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C stops the test first, and the test stops its members
            )
        return self

    def freeze(self) -> None:
        """Stop it in its tracks; returns when all its threads stand still."""
        assert self._running is not None
        self._running.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._running.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        assert self._running is not None
        self._running.send_signal(signal.SIGCONT)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it and wait for that; safe to call at any time."""
        process, self._running = self._running, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def wipe(self) -> None:
        """Lose the data folder."""
        shutil.rmtree(self.folder / "data")

    async def exited(self, *, within: float) -> int:
        """Wait for it to end by itself, and return its exit code."""
        process = self._running
        assert process is not None
        try:
            code = await asyncio.to_thread(process.wait, within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {within} s:\n{self.log}") from None
        self._running = None
        return code

    def _arguments(self) -> list[str]:
        given = flags.arguments(
            self.version,
            name=self.name,
            peer_url=self.peer_url,
            client_url=f"{'https' if self.client_tls else 'http'}://{LOOPBACK}:{self.client_port}",
            data_dir=str(self.folder / "data"),
            peer_tls=self.peer_tls,
            client_tls=self.client_tls,
        )
        if parse(self.version) >= (3, 5):
            given += ("--unsafe-no-fsync",)  # a test survives no power loss
        ports = {
            flags.PEER_PORT: self.peer_port,
            flags.CLIENT_PORT: self.client_port,
            flags.METRICS_PORT: self.metrics_port,
        }
        host = ANY if self.wildcard else LOOPBACK
        return [_at(host, argument, ports) for argument in given]

    def _environment(self, cluster: Mapping[str, str], state: str, token: str) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        return inherited | flags.environment(
            self.version, cluster=cluster, state=state, token=token, settings=self.settings
        )


def _at(host: str, argument: str, ports: Mapping[int, int]) -> str:
    for port, free in ports.items():
        argument = argument.replace(f"{ANY}:{port}", f"{host}:{free}")
    return argument
