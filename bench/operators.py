"""Operators as local processes: ours, and kopf's that does the same; each with a webhook, one certificate."""

import http.client
import ssl
import sys
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path

import msgspec

from bench import peers
from bench.programs import Program, free_port
from bench.reviews import UID
from tests.cluster.errors import HarnessError
from tests.cluster.pki import Authority

OURS, KOPF, CONTROLLER_RUNTIME = "operator", "kopf", "controller-runtime"
NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a program with a webhook is started; `port` is where that will listen, on 127.0.0.1."""

    port: int
    command: list[str | Path]
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where it validates."""
        return f"https://127.0.0.1:{self.port}/validate?timeout=10s"


def certify(folder: Path) -> None:
    """Write a certificate for 127.0.0.1, its key and its CA, as a Secret that is mounted has them."""
    authority = Authority()
    name = f"etcd-operator-webhook.{NAMESPACE}.svc"
    pair = authority.issue(name, addresses=(IPv4Address("127.0.0.1"),))
    files = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.pair.certificate}
    for file, content in files.items():
        (folder / file).write_bytes(content)


def ours(kubeconfig: Path, certificates: Path) -> Recipe:
    """The whole operator, for all namespaces, as it is shipped."""
    port = free_port()
    command: list[str | Path] = [
        *(sys.executable, "-m", "app", "run", f"--kubeconfig={kubeconfig}", "--all"),
        *("--webhook=external", f"--webhook-cert-dir={certificates}", f"--webhook-port={port}"),
        *(f"--listen-addr=127.0.0.1:{free_port()}", "--drain-seconds=0s"),
    ]
    return Recipe(port, command, {"MY_POD_NAMESPACE": NAMESPACE})


def kopf(kubeconfig: Path, certificates: Path) -> Recipe:
    """A small operator for all namespaces."""
    port = free_port()
    command: list[str | Path] = [
        *(peers.kopf(), "-m", "kopf", "run", "--all-namespaces", "--standalone", "--quiet"),
        peers.kopf_module(),
    ]
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "WEBHOOK_CERT_DIR": str(certificates),
        "WEBHOOK_PORT": str(port),
    }
    return Recipe(port, command, environment)


def controller_runtime(certificates: Path) -> Recipe:
    """A webhook server and nothing else."""
    port = free_port()
    return Recipe(port, [peers.controller_runtime(), f"-port={port}", f"-cert-dir={certificates}"])


def allows(program: Program, url: str, body: bytes, ca: Path) -> bool:
    """Whether a program answers the review `body` as it should.

    Raises HarnessError if it doesn't yet, and with the end of its log if it has ended.
    """
    program.check()
    address, _, path = url.removeprefix("https://").partition("/")
    context = ssl.create_default_context(cafile=str(ca))
    connection = http.client.HTTPSConnection(address, context=context, timeout=5)
    try:
        connection.request("POST", f"/{path}", body, {"Content-Type": "application/json"})
        answer = connection.getresponse().read()
    except OSError as error:
        raise HarnessError(f"no answer: {error}") from error
    finally:
        connection.close()
    try:
        response = msgspec.json.decode(answer)["response"]
    except (msgspec.DecodeError, KeyError) as error:
        raise HarnessError(f"not a review: {answer[:200]!r}") from error
    if response.get("uid") != UID or response.get("allowed") is not True:
        raise HarnessError(f"denied: {answer[:500]!r}")
    return True
