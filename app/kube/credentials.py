"""Who the operator is to the API server: from a kubeconfig or from the Pod's service account.

A service account's token is bound to the Pod, lives for about an hour, and the kubelet writes a new
one to the same file long before. It is read again each minute, on the monotonic clock, and at once when
the server answers 401. (kubernetes_asyncio#253, #205: a copy of the configuration lost the new token.)
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from app.kube import library
from app.kube.errors import KubeError

_configurations, _, _incluster = library.load()

REFRESH_SECONDS = 60.0


class Credentials(Protocol):
    """Who makes the value of the Authorization header."""

    async def header(self, *, renew: bool = False) -> str | None:
        """Return the header's value, or None where the client certificate says it all.

        ``renew`` demands a look at the source, however young the last value is.
        """


class TokenFile:
    """A bearer token in a file that somebody else replaces."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._read_at = float("-inf")
        self._token = ""

    async def header(self, *, renew: bool = False) -> str | None:
        """Return the token of the file, read anew each minute."""
        if renew or self._clock() - self._read_at >= REFRESH_SECONDS:
            # A file of a kilobyte in memory (tmpfs): a thread would cost more than the read.
            try:
                token = self._path.read_text().strip()
            except OSError:
                # Between two versions of the volume, perhaps. The old token is still good.
                token = ""
            if token:
                self._token = token
                self._read_at = self._clock()
        return f"Bearer {self._token}"


class Kubeconfig:
    """Whatever the user of a kubeconfig has: a token, a token file, a program to run, or a certificate."""

    def __init__(self, path: str, token: str | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._token = token
        self._clock = clock
        self._read_at = clock()
        self._lock = asyncio.Lock()

    async def header(self, *, renew: bool = False) -> str | None:
        """Return the token the kubeconfig gives, read anew each minute if it gives one at all."""
        if self._token is not None and (renew or self._clock() - self._read_at >= REFRESH_SECONDS):
            async with self._lock:
                self._token = _authorization(await _read(self._path))
                self._read_at = self._clock()
        return self._token


def _configuration() -> Any:
    return _configurations.Configuration()


async def _read(path: str) -> Any:
    configuration = _configuration()
    try:
        await library.load_kubeconfig_reader().load_kube_config(
            config_file=path, client_configuration=configuration, persist_config=False
        )
    except Exception as error:  # a bad file makes the library raise whatever it stumbles over
        raise KubeError(f"The kubeconfig {path} can't be used: {error}") from error
    return configuration


def _authorization(configuration: Any) -> str | None:
    """Return the header the kubeconfig's user asks for; a token read from a file ends with a line break."""
    value: str | None = configuration.api_key.get("BearerToken")
    return value.strip() if value else None


async def from_kubeconfig(path: str) -> tuple[Any, Credentials]:
    """Return the connection's configuration and its credentials. Raises ``KubeError`` for a bad file."""
    configuration = await _read(path)
    return configuration, Kubeconfig(path, _authorization(configuration))


def from_service_account() -> tuple[Any, Credentials]:
    """Return the same from the Pod's environment. Raises ``KubeError`` outside of a Pod."""
    configuration = _configuration()
    try:
        _incluster.load_incluster_config(client_configuration=configuration, try_refresh_token=False)
    except _incluster.ConfigException as error:
        raise KubeError(f"Not in a Pod, and no kubeconfig is given: {error}") from error
    return configuration, TokenFile(Path(_incluster.SERVICE_TOKEN_FILENAME))
