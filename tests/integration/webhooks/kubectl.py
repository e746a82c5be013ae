"""kubectl, as a person uses it."""

import asyncio
import os
import subprocess
from pathlib import Path

from tests.cluster import binaries


class KubectlError(Exception):
    """It failed; the text is all that it said."""


class Kubectl:
    """Runs kubectl and returns its output."""

    def __init__(self, kubeconfig: Path) -> None:
        self._command = [str(binaries.find("kubectl")["kubectl"]), f"--kubeconfig={kubeconfig}"]

    async def __call__(self, *arguments: str, stdin: str = "", editor: str = "") -> str:
        """Run it beside the loop, since it waits for webhooks that the loop answers."""
        return await asyncio.to_thread(self.run, *arguments, stdin=stdin, editor=editor)

    async def warnings(self, *arguments: str, stdin: str = "") -> list[str]:
        """Run it for the warnings that it prints."""
        done = await asyncio.to_thread(self._run, *arguments, stdin=stdin)
        return [
            line.removeprefix("Warning: ") for line in done.stderr.splitlines() if line[:9] == "Warning: "
        ]

    def run(self, *arguments: str, stdin: str = "", editor: str = "") -> str:
        """Run it; raises KubectlError."""
        return self._run(*arguments, stdin=stdin, editor=editor).stdout

    def _run(self, *arguments: str, stdin: str = "", editor: str = "") -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [*self._command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "KUBE_EDITOR": editor},
        )
        if done.returncode != 0:
            raise KubectlError(done.stdout + done.stderr)
        return done
