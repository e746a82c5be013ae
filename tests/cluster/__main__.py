"""The test cluster's command line."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from tests.cluster import state
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.cluster.progress import say


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 if it worked, 1 with a message if not, 130 when interrupted."""
    ours, theirs = _split(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(ours)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _run(options, theirs)
    except HarnessError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("Interrupted")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--name", default="default", help="the cluster's name (%(default)s)")
        return added

    up = command("up", "Bring a cluster up, or repair it; prints the path of its kubeconfig.")
    up.add_argument(
        "--nodes", type=int, default=3, help="how many nodes (%(default)s); 0 is a control plane only"
    )
    up.add_argument(
        "--image", type=Path, action="append", default=[], help="an OCI archive to load on the nodes"
    )
    command("down", "Take a cluster down; nothing of it is left.")
    load = command("load-image", "Load OCI archives on each node.")
    load.add_argument("archive", type=Path, nargs="+")
    command("kubectl", "Run kubectl as the cluster's administrator, with all that follows the name.")
    commands.add_parser("list", help="List the clusters.", description="List the clusters.")
    return parser


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and those that are kubectl's, which look like options of ours as often as not."""
    if arguments[:1] != ["kubectl"]:
        return arguments, []
    match arguments[1:]:
        case ["--name", _, *rest]:
            pass
        case [first, *rest] if first.startswith("--name=") or first in {"--help", "-h"}:
            pass
        case rest:
            pass
    return arguments[: len(arguments) - len(rest)], rest


def _run(options: argparse.Namespace, arguments: list[str]) -> None:
    match options.command:
        case "up":
            print(Cluster(options.name).up(options.nodes, images=options.image).kubeconfig)
        case "down":
            Cluster(options.name).down()
        case "load-image":
            for archive in options.archive:
                Cluster(options.name).load_image(archive)
        case "kubectl":
            Cluster(options.name).exec_kubectl(*arguments)
        case "list":
            for name in state.names():
                print(Cluster(name).describe())
        case _:
            raise AssertionError(options.command)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
