"""All benchmarks, in the order in which they run."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bench import bootstrap, idle_memory, membership, scale, settled, webhook_throughput
from bench.result import Result
from bench.stage import Stage


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`run` measures and returns results; what it raises is a failure to measure, not a missed goal."""

    about: str
    run: Callable[[Stage], Iterable[Result]]


BENCHMARKS: Mapping[str, Benchmark] = {
    "bootstrap": Benchmark("a custom resource applied, until its cluster is Available", bootstrap.run),
    "membership": Benchmark(
        "members lost and back, growing and shrinking, beside the same by hand", membership.run
    ),
    "idle-memory": Benchmark("the memory of an operator with nothing to do", idle_memory.run),
    "webhook": Benchmark("reviews a second, beside kopf and controller-runtime", webhook_throughput.run),
    "scale": Benchmark("a thousand clusters, beside kopf", scale.run),
    "settled": Benchmark("a thousand clusters that nothing happens to", settled.run),
}
