"""Clients of the cluster that record what they do: writers and readers of a few registers, and of a ledger.

Each operation goes to one member, chosen at random among those that have an address, by that address: so
also to one that is cut off, behind, or being removed, which a Service would spare its clients. The ledger's
keys are written once each; what was acknowledged must be there in the end.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field

from app.etcd.client import Dialer
from app.etcd.endpoint import Endpoint
from app.etcd.errors import EtcdError
from app.etcd.model import Header
from app.etcd.pool import Pool
from bench.chaos.history import Kind, Operation, Outcome
from tests.cluster.errors import HarnessError

REGISTERS = ("r0", "r1", "r2", "r3")
LEDGER = "ledger/"
DEADLINE_SECONDS = 2.0
PAUSE_SECONDS = 0.05
"""Between two operations of a client: the processors are to be left to the cluster."""

ADDRESS_SECONDS = 0.5
READ_AT_ONCE = 16


@dataclass(slots=True)
class Clients:
    """Clients in a thread of their own, from `start` to `stop`.

    ``addresses`` says where the members are now; it may raise HarnessError, and then the last answer stands.
    ``cluster_id`` is that of the cluster: an answer in the name of another one counts as none.
    """

    addresses: Callable[[], Iterable[str]]
    cluster_id: int
    seed: int
    writers: int = 4
    readers: int = 4
    history: list[Operation] = field(default_factory=list)
    strangers: int = 0
    """How many answers came from another cluster, at an address that had been a member's."""

    _known: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _fault: BaseException | None = None

    def start(self) -> None:
        """Begin."""
        self._known = sorted(self.addresses())
        self._thread = threading.Thread(target=self._run, name="clients")
        self._thread.start()

    def stop(self) -> None:
        """End; raises what a client ended with that is no error of etcd's."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._fault is not None:
            raise self._fault

    def read_everything(self, *, seconds: float) -> None:
        """Read all keys at the end, each until it was read, and record that. Raises TimeoutError."""
        asyncio.run(self._read_all(sorted({one.key for one in self.history}), seconds))

    @property
    def acknowledged(self) -> set[str]:
        """The keys of the ledger whose write was acknowledged."""
        writes = (one for one in self.history if one.kind is Kind.WRITE and one.outcome is Outcome.OK)
        return {one.key for one in writes if one.key.startswith(LEDGER)}

    @property
    def lost(self) -> list[str]:
        """Those of them that the last read did not find as they were written."""
        read = {one.key: one.value for one in self.history if one.kind is Kind.READ}
        return sorted(key for key in self.acknowledged if read.get(key) != key.removeprefix(LEDGER))

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:  # noqa: BLE001 - it is raised by `stop`
            self._fault = error

    async def _work(self) -> None:
        pool = Pool()
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self.writers):
                    group.create_task(self._client(pool, f"writer-{number}", self._write))
                for number in range(self.readers):
                    group.create_task(self._client(pool, f"reader-{number}", self._read_any))
                group.create_task(self._follow())
        finally:
            await pool.close()

    async def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                found = sorted(await asyncio.to_thread(self.addresses))
            except HarnessError:
                found = []
            self._known = found or self._known
            await asyncio.sleep(ADDRESS_SECONDS)

    async def _client(self, dialer: Dialer, name: str, work: "_Work") -> None:
        source = random.Random(f"{self.seed}/{name}")
        number = 0
        while not self._stop.is_set():
            number += 1
            await work(dialer, name, number, source)
            await asyncio.sleep(PAUSE_SECONDS * source.uniform(0.5, 1.5))

    async def _write(self, dialer: Dialer, name: str, number: int, source: random.Random) -> None:
        value = f"{name}.{number}"
        key = source.choice(REGISTERS) if number % 2 else f"{LEDGER}{value}"
        address = source.choice(self._known)
        invoked = time.monotonic()
        outcome = Outcome.OK
        try:
            async with dialer.dial(Endpoint(address)) as client:
                answer = await client.put(key.encode(), value.encode(), deadline=DEADLINE_SECONDS)
            if not self._is_ours(answer):
                outcome = Outcome.FAILED
        except EtcdError as error:
            outcome = Outcome.UNKNOWN if error.outcome_unknown else Outcome.FAILED
        self.history.append(Operation(name, key, Kind.WRITE, value, invoked, time.monotonic(), outcome))

    async def _read_any(self, dialer: Dialer, name: str, _number: int, source: random.Random) -> None:
        await self._read(dialer, name, source.choice(REGISTERS), source.choice(self._known))

    async def _read(self, dialer: Dialer, name: str, key: str, address: str) -> bool:
        invoked = time.monotonic()
        try:
            async with dialer.dial(Endpoint(address)) as client:
                answer = await client.get(key.encode(), deadline=DEADLINE_SECONDS)
        except EtcdError:
            return False
        if not self._is_ours(answer.header):
            return False
        value = None if answer.value is None else answer.value.decode()
        self.history.append(Operation(name, key, Kind.READ, value, invoked, time.monotonic()))
        return True

    def _is_ours(self, header: Header) -> bool:
        if header.cluster_id == self.cluster_id:
            return True
        self.strangers += 1
        return False

    async def _read_all(self, keys: list[str], seconds: float) -> None:
        self._known = sorted(self.addresses())
        pool = Pool()
        todo = list(reversed(keys))

        async def reader(name: str, source: random.Random) -> None:
            while todo:
                key = todo.pop()
                if not await self._read(pool, name, key, source.choice(self._known)):
                    todo.append(key)
                    await asyncio.sleep(PAUSE_SECONDS)

        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
                for number in range(READ_AT_ONCE):
                    name = f"auditor-{number}"
                    group.create_task(reader(name, random.Random(f"{self.seed}/{name}")))
        finally:
            await pool.close()


_Work = Callable[[Dialer, str, int, random.Random], Coroutine[None, None, None]]
