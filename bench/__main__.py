"""``python -m bench [name …]``: measure, print a table, write build/bench.json."""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from bench import result
from bench.registry import BENCHMARKS
from bench.stage import Stage
from tests.cluster.errors import HarnessError
from tests.cluster.progress import say

REPORT = Path("build/bench.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run benchmarks; 0 if all of them could measure, met goals or not, 1 if not, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    chosen = list(dict.fromkeys(options.names)) or list(BENCHMARKS)
    if unknown := [name for name in chosen if name not in BENCHMARKS]:
        say(f"There is no benchmark {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}")
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    found: list[result.Result] = []
    failed: list[str] = []
    try:
        with Stage(repetitions=options.repetitions) as stage:
            for name in chosen:
                say(f"Benchmark {name}: {BENCHMARKS[name].about}")
                try:
                    found += BENCHMARKS[name].run(stage)
                except HarnessError as error:
                    say(str(error))
                    failed.append(name)
                except Exception:  # noqa: BLE001 - the others can still measure
                    traceback.print_exc()
                    failed.append(name)
    except KeyboardInterrupt:
        say("Interrupted")
        return 130
    result.write(found, options.output)
    print(f"On {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at the end; report: {options.output}")
    print(result.table(found))
    for name in failed:
        print(f"{name} could not measure, see above")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"of: {', '.join(BENCHMARKS)} (default: all)"
    )
    parser.add_argument("--repetitions", type=int, default=7, help="how often to measure (%(default)s)")
    parser.add_argument("--output", type=Path, default=REPORT, help="the report (%(default)s)")
    return parser


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
