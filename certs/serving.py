"""The live TLS context: what a server serves with, exchanged while it runs.

The server is given one ``SSLContext`` for life. For each handshake that context asks, in its server-name
callback, for the newest good certificate, so open connections go on undisturbed and every new one gets the
new certificate. Loading a second chain into the one context would not do: OpenSSL keeps one certificate for
each kind of key, so an RSA certificate loaded over an ECDSA one changes nothing for most clients.

A pair is read into a context of its own first. A pair that does not fit together (a volume update caught
half-way, a garbage file) is refused there, and the last good one stays.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from cryptography import x509

from certs.errors import CertificateError


class LiveContext:
    """An ``SSLContext`` for servers whose certificate can be exchanged at any time.

    TLS 1.2 or newer, and HTTP/1.1 only: the API server is content with it, and without HTTP/2 there are no
    HTTP/2 floods (CVE-2023-44487).
    """

    def __init__(self) -> None:
        self.ssl_context = _server_context()
        self.ssl_context.sni_callback = self._choose
        self._current: ssl.SSLContext | None = None
        self.served: x509.Certificate | None = None
        """The certificate that new handshakes get; None before the first."""

    def load(self, certificate_pem: bytes, key_pem: bytes) -> None:
        """Serve this pair from the next handshake on.

        Raises `CertificateError` when it can't be served; the last good one stays.
        """
        scratch = _server_context()
        try:
            certificate = x509.load_pem_x509_certificate(certificate_pem)
            with _as_file(certificate_pem + b"\n" + key_pem) as path:
                scratch.load_cert_chain(path)
        except (ssl.SSLError, ValueError, OSError) as error:
            raise CertificateError(f"Certificate and key can't be served: {error}") from error
        self._current = scratch
        self.served = certificate

    def _choose(self, handshake: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> int | None:
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        handshake.context = self._current
        return None


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Lend `content` as a file, since OpenSSL's binding reads keys from paths only.

    It stays in memory where the system allows it: the key reaches no disk, and a read-only root filesystem
    is no hindrance.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("webhook-certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile(prefix="webhook-") as file:
            file.write(content)
            file.flush()
            yield file.name
