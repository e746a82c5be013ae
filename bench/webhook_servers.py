"""Three webhook servers on one processor, with one certificate: ours, kopf's, and controller-runtime's.

Ours is the whole operator with all its rules, as it is shipped; kopf's too is an operator that runs, since it
can't serve otherwise, with one rule. Both follow an API server in which nothing happens. Controller-runtime's
is its bare server with a typed validator of a few rules, which is all that it needs.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import operators
from bench.operators import CONTROLLER_RUNTIME, KOPF, OURS
from bench.programs import Program, running
from tests.cluster.waiting import wait_until

_START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs."""

    program: Program
    url: str


@contextmanager
def serving(kubeconfig: Path, folder: Path, body: bytes, *, processor: int) -> Iterator[Mapping[str, Server]]:
    """Run all three, from when each has allowed the review `body`. `folder` gets the certificate."""
    operators.certify(folder)
    recipes = {
        OURS: operators.ours(kubeconfig, folder),
        KOPF: operators.kopf(kubeconfig, folder),
        CONTROLLER_RUNTIME: operators.controller_runtime(folder),
    }
    with ExitStack() as stack:
        servers = {}
        for name, recipe in recipes.items():
            started = running(
                f"webhook-{name}", recipe.command, processor=processor, environment=recipe.environment
            )
            servers[name] = Server(stack.enter_context(started), recipe.url)
        for one in servers.values():
            answers = partial(operators.allows, one.program, one.url, body, folder / "ca.crt")
            wait_until(answers, timeout=_START_SECONDS, what=f"{one.program.name} to answer")
        yield servers
