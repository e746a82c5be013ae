"""A certificate authority for the members of a test."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from app.etcd.flags import Certificates
from tests.cluster.pki import Pair, unsigned

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH


class Authority:
    """Signs what it is asked to."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = unsigned(self._name, self._name, self._key.public_key())
        signed = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.pem = signed.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def issue(
        self,
        common_name: str,
        *,
        usages: Sequence[x509.ObjectIdentifier],
        names: Sequence[str] = (),
        addresses: Sequence[str] = (),
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        builder = unsigned(subject, self._name, key.public_key())
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        return Pair(
            builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )

    def store(self, pair: Pair, folder: Path) -> Certificates:
        """Write a pair and this authority where a member can read them."""
        folder.mkdir(parents=True)
        contents = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": self.pem}
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        return Certificates(*(str(folder / name) for name in contents))
