"""``python -m bench.chaos``: one run, on a test cluster that is up or is brought up for it."""

import argparse
import secrets
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from bench.chaos.run import run, write
from bench.stage import OPERATOR_NAMESPACE, Stage
from tests.cluster.errors import HarnessError
from tests.cluster.progress import say
from tests.e2e.installation import Installation
from tests.e2e.kube import create_namespace
from tests.e2e.subject import Subject

FOLDER = Path("build/chaos")


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one run; 0 if nothing was wrong, 1 if something was, 2 if it could not be done."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Stage(name=options.cluster) as stage:
            operator = Installation(stage.cluster, OPERATOR_NAMESPACE)
            namespace = f"chaos-{secrets.token_hex(4)}"
            create_namespace(stage.cluster, namespace)
            try:
                report = run(
                    Subject(stage.cluster, namespace, "chaos"),
                    operator,
                    seed=options.seed,
                    seconds=options.seconds,
                )
            finally:
                stage.cluster.kubectl("delete", "namespace", namespace, "--wait=false")
    except HarnessError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("Interrupted")
        return 130
    write(report, FOLDER)
    print(f"{report.summary()}\nIts history and its faults are in {FOLDER}")
    return 1 if report.failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10_000), help="default: any")
    parser.add_argument("--seconds", type=float, default=600, help="how long (%(default)s)")
    parser.add_argument("--cluster", default="chaos", help="the test cluster's name (%(default)s)")
    return parser


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
