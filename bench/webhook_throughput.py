"""How many reviews a second the webhook answers, and how fast, beside what others' libraries do.

The same client, certificate and review for all; one processor for the server and one for the client; 1, 8
and 32 connections that are kept alive, each sending the next review when it has the answer. The servers take
turns for each number of connections. The processor time that a review costs is told as well: it changes less
when other programs take the processors away than the rates do. A sample in which they took more than a little
is taken again, a few times.
"""

import asyncio
import resource
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from statistics import median

from bench import load, programs
from bench.disturbance import Meter
from bench.operators import CONTROLLER_RUNTIME, KOPF, OURS
from bench.result import Goal, Result
from bench.reviews import review
from bench.samples import interleaved
from bench.stage import Stage
from bench.webhook_servers import Server, serving
from tests.cluster.progress import say

CONNECTIONS = (1, 8, 32)
_SECONDS = 1
_ROUNDS = 2
"""Per repetition: short ones, so that what disturbs the machine for a while hits all servers alike."""
_TOLERATED = 0.05
"""The share of the two processors that other programs may take."""
_TRIES = 4
_RATE_GOALS = {CONTROLLER_RUNTIME: 1.3, KOPF: 4.0}
_GOALS_FROM = 8
"""Connections; with one alone, the time on the way is most of what is measured."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement: reviews a second, milliseconds, microseconds of the server's processor a review.

    `client` and `others` are shares, 0 to 1: of its processor that the client used, and of both processors
    that other programs did.
    """

    rate: float
    p50: float
    p99: float
    cost: float
    client: float
    others: float


def run(stage: Stage) -> Iterable[Result]:
    """Measure all three servers in turns."""
    load.ensure()
    kubeconfig = stage.control_plane.kubeconfig
    body = review()
    processors = programs.processors()
    with tempfile.TemporaryDirectory(prefix="bench-webhook-") as name:
        file = Path(name, "review.json")
        file.write_bytes(body)
        with serving(kubeconfig, Path(name), body, processor=processors[0]) as servers:
            results: list[Result] = []
            for connections in CONNECTIONS:
                found = asyncio.run(_measure(stage, servers, file, connections, processors))
                results += _results(found, connections)
            return results


async def _measure(
    stage: Stage,
    servers: Mapping[str, Server],
    body: Path,
    connections: int,
    processors: tuple[int, int],
) -> dict[str, Sample]:
    async def one(server: Server, _turn: int) -> Sample:
        best = _sample(server, body, connections, processors)
        for _ in range(_TRIES - 1):
            if best.others <= _TOLERATED:
                break
            best = min(best, _sample(server, body, connections, processors), key=lambda one: one.others)
        return best

    sides = {name: partial(one, server) for name, server in servers.items()}
    taken = await interleaved(sides, repetitions=_ROUNDS * stage.repetitions)
    middle = {name: _middle(samples) for name, samples in taken.items()}
    for name, sample in middle.items():
        say(
            f"  {connections:2} connections, {name}: {sample.rate:.0f} reviews/s, p50 {sample.p50:.2f} ms, "
            f"p99 {sample.p99:.2f} ms, {sample.cost:.0f} µs of the processor each; "
            f"the client used {sample.client:.0%} of its processor, others {sample.others:.0%} of both"
        )
    return middle


def _sample(server: Server, body: Path, connections: int, processors: tuple[int, int]) -> Sample:
    meter = Meter(set(processors))
    served, sent = server.program.cpu_seconds(), _children_seconds()
    found = load.put(server.url, body, connections=connections, seconds=_SECONDS, processor=processors[1])
    served, sent = server.program.cpu_seconds() - served, _children_seconds() - sent
    return Sample(
        rate=found.rate,
        p50=found.p50,
        p99=found.p99,
        cost=served / found.requests * 1e6,
        client=sent / found.seconds,
        others=meter.others(served + sent),
    )


def _children_seconds() -> float:
    """The processor time of the clients so far, which have all ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _middle(samples: list[Sample]) -> Sample:
    return Sample(*(median(getattr(one, field.name) for one in samples) for field in fields(Sample)))


def _results(found: Mapping[str, Sample], connections: int) -> Iterable[Result]:
    ours = found[OURS]
    aimed = connections >= _GOALS_FROM
    for name in (CONTROLLER_RUNTIME, KOPF):
        peer = found[name]
        ending = f"{connections}-{name}"
        rate = Goal(_RATE_GOALS[name], at_least=True) if aimed else None
        tail = Goal(1.0) if aimed and name == CONTROLLER_RUNTIME else None
        yield Result(f"webhook-rate-{ending}", "1/s", ours.rate, peer.rate, beside="peer", goal=rate)
        yield Result(f"webhook-p50-{ending}", "ms", ours.p50, peer.p50, beside="peer")
        yield Result(f"webhook-p99-{ending}", "ms", ours.p99, peer.p99, beside="peer", goal=tail)
        yield Result(f"webhook-cpu-{ending}", "µs", ours.cost, peer.cost, beside="peer")
