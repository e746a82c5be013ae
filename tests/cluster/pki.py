"""The cluster's certificates and kubeconfigs."""

import datetime
from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=30)
_CLOCK_SKEW = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """A certificate authority that lives as long as the cluster that it is made for."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("test-cluster")
        self._certificate = (
            unsigned(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @cached_property
    def pair(self) -> Pair:
        return _pair(self._certificate, self._key)

    def issue(
        self,
        user: str,
        *,
        group: str = "",
        names: tuple[str, ...] = (),
        addresses: tuple[IPv4Address, ...] = (),
    ) -> Pair:
        """A certificate for Kubernetes' user `user` in `group`, that may also serve under the names given."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives = [x509.DNSName(name) for name in (user.replace(":", "-"), *names)]
        certificate = (
            unsigned(_name(user, group), self._name, key.public_key())
            .add_extension(
                x509.SubjectAlternativeName([*alternatives, *(x509.IPAddress(a) for a in addresses)]),
                critical=False,
            )
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        return _pair(certificate, key)

    def kubeconfig(self, server: str, client: Pair) -> str:
        """A kubeconfig with everything in it, so that it may be copied elsewhere."""
        certificates = {
            "client-certificate-data": b64encode(client.certificate).decode(),
            "client-key-data": b64encode(client.key).decode(),
        }
        authority = b64encode(self.pair.certificate).decode()
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                "clusters": [
                    {"name": "test", "cluster": {"server": server, "certificate-authority-data": authority}}
                ],
                "users": [{"name": "test", "user": certificates}],
            }
        )


def private_key() -> bytes:
    """A private key in PEM, for signing service account tokens."""
    return _pem(ec.generate_private_key(ec.SECP256R1()))


def _name(common_name: str, organization: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    """A certificate that lives as long as a test may need it, before its extensions and its signature."""
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
