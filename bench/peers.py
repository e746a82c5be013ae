"""The programs that the operator is compared with, made once and kept."""

import subprocess
import sys
import venv
from pathlib import Path

from tests.cluster import binaries, cache
from tests.cluster.errors import HarnessError
from tests.cluster.progress import step

_HERE = Path(__file__).parent
CONTROLLER_RUNTIME = "0.25.2"
KOPF = "1.45.2"


def controller_runtime() -> Path:
    """The webhook in Go; raises HarnessError where it can't be built."""
    recipe = binaries.Tool(CONTROLLER_RUNTIME, {"webhook": "bench/webhook"}, expected_seconds=150)
    built = binaries.built("controller-runtime-webhook", _HERE / "controller_runtime", recipe)
    return built["webhook"]


def kopf() -> Path:
    """The Python of an environment that has kopf; raises HarnessError where that can't be made."""
    lock = _HERE / "kopf_peer" / "requirements.lock"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"

    def make(out: Path) -> None:
        with step(f"Installing kopf {KOPF}"):
            venv.create(out, with_pip=True)
            options = (
                "--quiet",
                "--disable-pip-version-check",
                "--require-hashes",
                "--requirement",
                str(lock),
            )
            done = subprocess.run(
                [out / "bin" / "python", "-m", "pip", "install", *options],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise HarnessError(f"kopf can't be installed: {done.stderr.strip()}")

    place = cache.entry("kopf", f"kopf-{cache.key(lock.read_bytes(), version, sys.executable)}", make)
    return place / "bin" / "python"


def kopf_module() -> Path:
    """The operator that kopf runs."""
    return _HERE / "kopf_peer" / "peer.py"
