"""A thousand settled clusters: what it costs to keep an eye on them, and how soon a dead etcd is noticed.

The clusters are those of `bench.fleet`; the operator is a local process on one processor.

- *cpu* and *memory*: over a minute in which nothing happens, so that each cluster has a whole look once and
  is asked for its pulse in between.
- *notice*: members take connections and answer nothing, while the API server goes on calling their Pods
  ready; then until the status no longer says Available.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from app.kube.objects import CustomObject
from bench import memory, operators, programs
from bench.fleet import Fleet, fleet
from bench.following import connected, is_true
from bench.programs import Program, running
from bench.result import Goal, Result
from bench.samples import summary
from bench.stage import PROJECT, Stage
from tests.cluster.progress import say, step

CLUSTERS = 1000
_QUIET_SECONDS = 60.0
_DEAD = 20
_DEATHS_PER_SECOND = 2.0
_FOUNDING_SECONDS = 600.0
_NOTICED_SECONDS = 60.0


@dataclass(slots=True)
class _Found:
    """Cores, MiB and seconds."""

    cpu: float = 0.0
    rss: float = 0.0
    noticed: list[float] = field(default_factory=list)


def run(stage: Stage) -> Iterable[Result]:
    """Measure on a control plane."""
    cluster = stage.control_plane
    cluster.kubectl("apply", "--server-side", "--kustomize", str(PROJECT / "manifests" / "crd"))
    with tempfile.TemporaryDirectory(prefix="bench-settled-") as name:
        operators.certify(Path(name))
        found = asyncio.run(_run(cluster.kubeconfig, Path(name)))
    return [
        Result("settled-cpu", "cores", found.cpu, goal=Goal(0.5, of="value")),
        Result("settled-memory", "MiB", found.rss, goal=Goal(200, of="value")),
        Result("settled-notice", "s", max(found.noticed), goal=Goal(10, of="value")),
    ]


async def _run(kubeconfig: Path, folder: Path) -> _Found:
    server, clients = programs.processors()
    recipe = operators.ours(kubeconfig, folder)
    found = _Found()
    async with connected(kubeconfig) as api, fleet(api, processor=clients) as clusters:
        with running("settled", recipe.command, processor=server, environment=recipe.environment) as program:
            with step(f"Founding {CLUSTERS} clusters"):
                await clusters.grow(CLUSTERS)
                await clusters.clusters.until(
                    lambda objects: all(map(_is_settled, objects)),
                    seconds=_FOUNDING_SECONDS,
                    what="every cluster to be ready",
                )
            await _while_nothing_happens(program, found)
            deaths = (_die(clusters, index, index / _DEATHS_PER_SECOND) for index in range(_DEAD))
            found.noticed = await asyncio.gather(*deaths)
            say(f"  dead clusters were noticed after {summary(found.noticed)}")
    return found


def _is_settled(one: CustomObject) -> bool:
    return is_true(one.status.get("conditions"), "Ready")


async def _while_nothing_happens(program: Program, found: _Found) -> None:
    await asyncio.sleep(_QUIET_SECONDS)  # the last of those that were founded settle
    begun, before = time.monotonic(), program.cpu_seconds()
    await asyncio.sleep(_QUIET_SECONDS)
    found.cpu = (program.cpu_seconds() - before) / (time.monotonic() - begun)
    found.rss = memory.of(program.pid).rss
    say(f"  {CLUSTERS} settled clusters take {found.cpu:.3f} cores and {found.rss:.1f} MiB")


async def _die(clusters: Fleet, index: int, wait: float) -> float:
    """Let a cluster die after a while; returns how many seconds later its status says so."""
    await asyncio.sleep(wait)
    begun = time.monotonic()
    name = await clusters.silence(index)
    await clusters.clusters.until(
        lambda objects: any(
            one.metadata.name == name and not is_true(one.status.get("conditions"), "Available")
            for one in objects
        ),
        seconds=_NOTICED_SECONDS,
        what=f"{name} to be called unavailable",
    )
    return time.monotonic() - begun
