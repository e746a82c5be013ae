"""A thousand clusters: memory, start, and what an edit and a review wait for while the cache is filled anew.

The operator is a local process on one processor. It speaks to a real API server through a proxy on loopback,
which can end a watch as an API server does that has forgotten its version (410 Gone), so that everything is
listed again, and which sees when the operator acts. kopf's does the same work beside it, in turns.

- *start*: all custom resources are edited while no operator runs; then from the start of the process until
  each status says that its latest spec was seen, etcd's members asked and all.
- *edit*: from when the API server has accepted an edit until the operator's first request about it arrives,
  for edits that fall into a new list of the 3,000 Pods.
- *webhook*: a request every 10 ms over one connection, with nothing else going on, and during such lists.

For the last two the operator has its processor to itself, as it has beside a control plane that is another
machine: the API server, etcd, the proxy and the clients share the other one.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from bench import memory, operators, programs
from bench.fleet import NAMESPACE, Fleet, fleet
from bench.following import connected
from bench.operators import KOPF, OURS, Recipe
from bench.programs import Program, running
from bench.proxy import Proxy, Seen, proxy
from bench.result import Goal, Result
from bench.reviews import review
from bench.samples import interleaved, percentile, summary
from bench.stage import PROJECT, Stage
from tests.cluster.progress import say, step
from tests.cluster.waiting import wait_until

CLUSTERS = 1000
_ROUNDS = 3
_RELISTS = 10
_EDITS = 20
_WINDOW_SECONDS = 1.0
_PROBE_RATE = 100
_IDLE_SECONDS = 15
_LONG = 600.0
_CONTROL_PLANE = ("kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler")
_PEER_SECONDS = 60.0
"""How long a peer may take to reconcile all; one that doesn't is asked how far it got."""


@dataclass(slots=True)
class Found:
    """What was measured of one side: MiB, and seconds."""

    empty: float = 0.0
    full: float = 0.0
    idle: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    edits: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    reached: int = CLUSTERS
    """How many clusters it reconciled in the time that it had."""


@dataclass(frozen=True, slots=True)
class _Bench:
    """``others`` are the processes of the control plane and this one, all that the operator speaks to."""

    fleet: Fleet
    proxy: Proxy
    folder: Path
    server: int
    clients: int
    others: tuple[int, ...]

    @asynccontextmanager
    async def run(self, name: str, recipe: Recipe) -> AsyncIterator[Program]:
        """Run an operator; it is ended without holding up the proxy, which it needs to end well."""
        with ExitStack() as stack:
            started = running(
                f"scale-{name}", recipe.command, processor=self.server, environment=recipe.environment
            )
            program = stack.enter_context(started)
            try:
                yield program
            finally:
                await asyncio.to_thread(stack.close)

    async def answers(self, program: Program, recipe: Recipe) -> None:
        """Wait until the webhook answers."""
        ask = partial(operators.allows, program, recipe.url, self.review.read_bytes(), self.folder / "ca.crt")
        await asyncio.to_thread(wait_until, ask, timeout=120, what=f"{program.name} to answer")

    @property
    def review(self) -> Path:
        """The body of the requests to the webhook."""
        return self.folder / "review.json"

    async def settled(self, program: Program) -> float:
        """The MiB that are resident, once they don't change any more."""
        return (await asyncio.to_thread(memory.settled, lambda: memory.of(program.pid))).rss

    @asynccontextmanager
    async def probing(self, url: str) -> AsyncIterator[list[tuple[float, float]]]:
        """Ask the webhook again and again; afterwards the list has when, and how long it took."""
        program = [sys.executable, "-m", "bench.prober", url, str(self.review), str(_PROBE_RATE)]
        process = await asyncio.create_subprocess_exec(
            *programs.pinned(self.clients, program), stdout=asyncio.subprocess.PIPE, cwd=PROJECT
        )
        found: list[tuple[float, float]] = []
        try:
            yield found
        finally:
            process.terminate()
            output, _ = await process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"The prober ended with {process.returncode}")
        found += [(sent, took) for sent, took in json.loads(output)]

    async def relist(self) -> float:
        """Make the operator list the Pods again; returns when it began to, of the monotonic clock."""
        mark = len(self.proxy.seen)

        def begun() -> float | None:
            return next((one.at for one in self.proxy.seen[mark:] if _lists_pods(one)), None)

        async with asyncio.timeout(_LONG):
            # After the last time it takes the operator a while until it watches them again.
            await self._until(lambda: self.proxy.forget("pods") or None)
            return await self._until(begun)

    async def _until(self, found: Callable[[], float | None]) -> float:
        while (value := found()) is None:
            self.proxy.changed.clear()
            await self.proxy.changed.wait()
        return value

    async def edit(self, names: Iterable[str], *, paused: bool) -> list[tuple[str, float]]:
        """Edit clusters one after the other through the window of a list; says when each was accepted."""
        done = []
        for name in names:
            await self.fleet.edit(name, paused=paused)
            done.append((name, time.monotonic()))
            await asyncio.sleep(_WINDOW_SECONDS / _EDITS / 2)
        return done


def run(stage: Stage) -> Iterable[Result]:
    """Measure both operators on a control plane."""
    cluster = stage.control_plane
    cluster.kubectl("apply", "--server-side", "--kustomize", str(PROJECT / "manifests" / "crd"))
    with tempfile.TemporaryDirectory(prefix="bench-scale-") as name:
        folder = Path(name)
        operators.certify(folder)
        (folder / "review.json").write_bytes(review())
        machine = cluster.control_plane.machine
        pids = [machine.find(program) for program in _CONTROL_PLANE]
        others = (os.getpid(), *(pid for pid in pids if pid is not None))
        rounds = min(_ROUNDS, stage.repetitions)
        found = asyncio.run(_run(cluster.kubeconfig, folder, others, rounds=rounds))
    return _results(found)


async def _run(kubeconfig: Path, folder: Path, others: tuple[int, ...], *, rounds: int) -> dict[str, Found]:
    server, clients = programs.processors()
    async with (
        connected(kubeconfig) as api,
        proxy(kubeconfig) as between,
        fleet(api, processor=clients) as clusters,
    ):
        bench = _Bench(clusters, between, folder, server, clients, others)
        recipes = {
            OURS: operators.ours(between.kubeconfig, folder),
            KOPF: operators.kopf(between.kubeconfig, folder),
        }
        found = {name: Found() for name in recipes}
        for name, recipe in recipes.items():
            async with bench.run(name, recipe) as program:
                await bench.answers(program, recipe)
                found[name].empty = await bench.settled(program)
        with step(f"Founding {CLUSTERS} clusters"):
            async with bench.run(OURS, recipes[OURS]):
                await clusters.grow(CLUSTERS)
                await clusters.ready(seconds=_LONG)
        toggle = _Toggle()
        sides = {
            name: partial(_round, bench, name, recipe, found[name], toggle)
            for name, recipe in recipes.items()
        }
        await interleaved(sides, repetitions=rounds, warm_ups=0)
    return found


@dataclass(slots=True)
class _Toggle:
    """The value of the field that all edits change, which must differ from what it was."""

    paused: bool = False

    def next(self) -> bool:
        self.paused = not self.paused
        return self.paused


async def _round(bench: _Bench, name: str, recipe: Recipe, found: Found, toggle: _Toggle, turn: int) -> None:
    """One start of an operator, and in the first round all that is measured of one that runs.

    A peer that doesn't get there in time has no more than the memory it has by then; ours fails the
    benchmark.
    """
    if found.reached < CLUSTERS:
        return
    await bench.fleet.edit_all(paused=toggle.next())
    begun = time.monotonic()
    async with bench.run(name, recipe) as program:
        try:
            await bench.fleet.reconciled(seconds=_LONG if name == OURS else _PEER_SECONDS)
        except TimeoutError:
            if name == OURS:
                raise
            found.reached = bench.fleet.count_reconciled()
            found.full = memory.of(program.pid).rss
            say(f"  {name}: {found.reached} reconciled {_PEER_SECONDS:.0f} s after its start, given up")
            return
        found.starts.append(time.monotonic() - begun)
        say(f"  {name}: all reconciled {found.starts[-1]:.1f} s after its start")
        if turn == 0:
            await bench.answers(program, recipe)
            with programs.confined(bench.others, bench.clients), programs.urgent():
                await _while_running(bench, name, recipe, program, found, toggle)


async def _while_running(
    bench: _Bench, name: str, recipe: Recipe, program: Program, found: Found, toggle: _Toggle
) -> None:
    found.full = await bench.settled(program)
    say(f"  {name}: {found.empty:.1f} MiB with no cluster, {found.full:.1f} with {CLUSTERS}")
    async with bench.probing(recipe.url) as probes:
        await asyncio.sleep(_IDLE_SECONDS)
    found.idle = [took for _, took in probes]
    await _while_listing(bench, recipe, found, toggle)
    for what in ("idle", "busy", "edits"):
        values = getattr(found, what)
        say(f"  {name}: {what} {summary(values)}, p99 {percentile(values, 0.99):.3f} s")


async def _while_listing(bench: _Bench, recipe: Recipe, found: Found, toggle: _Toggle) -> None:
    paused = toggle.next()
    names = sorted(one.metadata.name for one in bench.fleet.clusters.store.values())
    mark = len(bench.proxy.seen)
    edits: list[tuple[str, float]] = []
    windows: list[float] = []
    async with bench.probing(recipe.url) as probes:
        for turn in range(_RELISTS):
            windows.append(await bench.relist())
            edits += await bench.edit(names[turn * _EDITS : (turn + 1) * _EDITS], paused=paused)
        await bench.fleet.reconciled(seconds=_LONG)
    await bench.fleet.edit_all(paused=paused)  # so that the next round finds all alike
    acts = first_acts(bench.proxy.seen[mark:])
    found.edits = [max(0.0, acts[name] - accepted) for name, accepted in edits]
    found.busy = [
        took for sent, took in probes if any(begun <= sent <= begun + _WINDOW_SECONDS for begun in windows)
    ]


def _lists_pods(seen: Seen) -> bool:
    return seen.whole and seen.path.endswith("/pods")


def first_acts(seen: Iterable[Seen]) -> dict[str, float]:
    """When an operator first wrote about each cluster."""
    found: dict[str, float] = {}
    for one in seen:
        _, _, rest = one.path.partition(f"/namespaces/{NAMESPACE}/etcdclusters/")
        if rest and one.method in {"PATCH", "PUT"}:
            found.setdefault(rest.partition("/")[0], one.at)
    return found


def _results(found: dict[str, Found]) -> Iterable[Result]:
    ours, kopf = found[OURS], found[KOPF]

    def beside(name: str, unit: str, of: Callable[[Found], float | None], goal: Goal | None = None) -> Result:
        value = of(ours)
        assert value is not None
        return Result(name, unit, value, of(kopf), beside="peer", goal=goal)

    return [
        beside("scale-memory", "MiB", lambda one: one.full or None, Goal(150, of="value")),
        beside("scale-memory-per-1000", "MiB", _growth),
        Result("scale-reconciled", "clusters", ours.reached, kopf.reached, beside="peer"),
        beside("scale-start", "s", lambda one: median(one.starts or [0]) or None, Goal(30, of="value")),
        beside("scale-edit-p99", "ms", lambda one: _tail(one.edits), Goal(100, of="value")),
        Result("scale-webhook-p99", "ms", _tail(ours.busy) or 0.0, _tail(ours.idle), goal=Goal(3)),
        beside("scale-webhook-p99-kopf", "ms", lambda one: _tail(one.busy)),
    ]


def _growth(one: Found) -> float | None:
    return (one.full - one.empty) * 1000 / CLUSTERS if one.full else None


def _tail(values: list[float]) -> float | None:
    """The 99th percentile in milliseconds."""
    return percentile(values, 0.99) * 1000 if values else None
