"""The command line: ``etcd-operator [run] [flags]``, ``… validate -f FILE``, ``… version``.

``… inspect-wal DIR`` and ``… commit-wal DIR`` are what the operator runs beside the volume of a member that
does not run.

Without a subcommand it runs the operator, as the image of the operator that this one succeeds did.
"""

import os
import sys
from collections.abc import Sequence

from app import __version__
from app.config import ConfigError, load


def _run(arguments: Sequence[str]) -> int:
    try:
        config = load(arguments, os.environ)
    except ConfigError as error:
        print(f"etcd-operator: {error}", file=sys.stderr)
        return 2
    # gRPC's core writes to standard error by itself, unless told otherwise before it is loaded; we log what
    # its calls tell us.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import uvloop  # noqa: PLC0415 - only the operator itself pays for it, not `validate` in a user's CI

    from app.runtime import run  # noqa: PLC0415

    return uvloop.run(run(config))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the process's exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    match given:
        case ["version" | "-version" | "--version" | "-version=true" | "--version=true", *_]:
            print(f"etcd-operator Version: {__version__}")
            return 0
        case ["validate", *rest]:
            from app.validate_command import main as validate  # noqa: PLC0415

            return validate(rest)
        case ["inspect-wal", *rest]:
            from app import wal_commands  # noqa: PLC0415

            return wal_commands.main(wal_commands.inspect, rest)
        case ["commit-wal", *rest]:
            from app import wal_commands  # noqa: PLC0415

            return wal_commands.main(wal_commands.commit, rest)
        case ["run", *rest]:
            return _run(rest)
        case _:
            return _run(given)
