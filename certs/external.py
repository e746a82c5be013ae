"""Certificates that somebody else keeps: cert-manager, a platform's CA, a person.

They are files, as a mounted ``kubernetes.io/tls`` Secret has them: ``tls.crt``, ``tls.key`` and, to check
with, ``ca.crt``. They are polled, since a volume's update comes as a swap of symbolic links, which file
notifications report differently on every filesystem. What can't be served is counted, and the last good pair
stays until there is a better one. The ``caBundle`` is its author's to write.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from ssl import SSLContext
from typing import NoReturn

from app.ops.logging import get_logger
from app.ops.metrics import Metrics
from certs import probe
from certs.errors import CertificateError
from certs.serving import LiveContext

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Files:
    certificate: bytes
    key: bytes
    ca: bytes


class ExternalCertificates:
    """Serves what is in a directory, and follows it."""

    def __init__(
        self,
        directory: Path,
        *,
        name: str,
        port: int,
        metrics: Metrics,
        interval: float = 5.0,
    ) -> None:
        """`name` is the DNS name the API server expects; `interval` is seconds between two looks."""
        self.loaded = asyncio.Event()
        self._live = LiveContext()
        self._directory = directory
        self._name = name
        self._port = port
        self._metrics = metrics
        self._interval = interval
        self._tried: _Files | None = None
        self._ca = b""
        self._trouble = "The certificate is not loaded yet"

    @property
    def ssl_context(self) -> SSLContext:
        """The context to serve with, for the life of the process."""
        return self._live.ssl_context

    async def run(self) -> NoReturn:
        """Follow the files."""
        while True:
            try:
                self._take(await asyncio.to_thread(_read, self._directory))
            except (OSError, CertificateError) as error:
                self._metrics.certificate_errors.labels("load").inc()
                if str(error) != self._trouble:
                    self._trouble = str(error)
                    _log.warning("Failed to load the certificate", directory=str(self._directory), why=error)
            await asyncio.sleep(self._interval)

    async def check(self) -> str | None:
        """Why the webhooks can't be called, or None.

        Without a ``ca.crt`` only whether there is a certificate.
        """
        if not self.loaded.is_set():
            return self._trouble
        if not self._ca:
            return None
        return await probe.handshake(port=self._port, name=self._name, bundle=self._ca)

    def _take(self, files: _Files) -> None:
        if files == self._tried:
            return
        self._live.load(files.certificate, files.key)
        self._tried, self._ca, self._trouble = files, files.ca, ""
        self.loaded.set()
        served = self._live.served
        if served is not None:
            end = served.not_valid_after_utc
            self._metrics.certificate_expiry.labels("serving").set(end.timestamp())
            _log.info("Loaded the certificate", directory=str(self._directory), expires=end.isoformat())


def _read(directory: Path) -> _Files:
    ca = directory / "ca.crt"
    return _Files(
        certificate=(directory / "tls.crt").read_bytes(),
        key=(directory / "tls.key").read_bytes(),
        ca=ca.read_bytes() if ca.exists() else b"",
    )
