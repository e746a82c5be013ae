"""Where a member listens, and how to speak to it there: plain data."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TLS:
    """PEM of what a TLS connection needs: the CAs to trust, and our own certificate with its key if any."""

    ca: bytes
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate and its key come together")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address to dial.

    ``host`` is the Pod's IP, so that no DNS is in the way; ``server_name`` is then the name that the member's
    certificate must carry (``<pod>.<cluster>.<namespace>.svc``). Equal endpoints may share a connection.
    """

    host: str
    port: int = 2379
    tls: TLS | None = None
    server_name: str = ""

    def __str__(self) -> str:
        return self.authority + (f" ({self.server_name})" if self.server_name else "")

    @property
    def authority(self) -> str:
        """Host and port as a URL has them."""
        return authority(self.host, self.port)

    @property
    def target(self) -> str:
        """The target in gRPC's spelling; a literal address is not resolved."""
        try:
            version = ipaddress.ip_address(self.host).version
        except ValueError:
            return f"dns:///{self.authority}"
        return f"ipv{version}:{self.authority}"


def authority(host: str, port: int) -> str:
    """Join a host and a port, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
