"""The client of the webhooks: wrk, one thread, over TLS, as many requests as so many connections can carry.

It is written in C and takes a fraction of what the servers take, so that they are measured and not it.
"""

import subprocess
from pathlib import Path

import msgspec

from bench.programs import pinned
from tests.cluster.errors import HarnessError
from tests.cluster.packages import ensure_debian

_SCRIPT = Path(__file__).parent / "wrk" / "post.lua"


class Load(msgspec.Struct, frozen=True):
    """What wrk measured; `p50` and `p99` are in milliseconds."""

    requests: int
    seconds: float
    errors: int
    p50: float
    p99: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


def ensure() -> None:
    """Have wrk on this machine."""
    ensure_debian({"wrk": "wrk"})


def put(url: str, body: Path, *, connections: int, seconds: int, processor: int) -> Load:
    """Load a server; raises HarnessError if a request failed or got another answer than 2xx or 3xx."""
    command = ["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s"]
    done = subprocess.run(
        pinned(processor, [*command, "--timeout", "10s", "--script", _SCRIPT, url, "--", body]),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 60,
    )
    if done.returncode != 0:
        raise HarnessError(f"wrk failed: {(done.stderr + done.stdout).strip()}")
    found = parse(done.stdout)
    if found.errors or not found.requests:
        raise HarnessError(f"{found.errors} of {found.requests} requests to {url} failed")
    return found


def parse(output: str) -> Load:
    """Read what wrk and our script printed; ours is the last line."""
    return msgspec.json.decode(output.splitlines()[-1], type=Load)
