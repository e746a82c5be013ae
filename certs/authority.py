"""X.509: the certificate authority of the webhook, and the leaves it signs.

Pure: no clock and no files; the only side effect is randomness. What is made here passes the strictest
verifiers in use, Go's and Python's with ``VERIFY_X509_STRICT`` (on by default from 3.13): every certificate
carries subject and authority key identifiers and a critical key usage, a CA a critical basic constraint
with a path length of zero, a leaf nothing but DNS names and the ``serverAuth`` usage (RFC 5280, 4.2).

Each CA has a subject of its own. Two CAs with one subject, as they stand in a bundle during a rotation, make
some verifiers try only the first.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.errors import CertificateError

BACKDATE = timedelta(hours=1)
"""How far back validity begins, for API servers whose clocks are behind ours."""

_NO_USAGE = dict.fromkeys(
    (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    ),
    False,
)


@dataclass(frozen=True)
class CaCertificate:
    """A CA's certificate, with or without its key: what a bundle is made of."""

    certificate: x509.Certificate

    @cached_property
    def pem(self) -> bytes:
        """The certificate as PEM, ending in a newline."""
        return self.certificate.public_bytes(Encoding.PEM)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the DER form, in hexadecimal."""
        return hashlib.sha256(self.certificate.public_bytes(Encoding.DER)).hexdigest()

    @property
    def not_after(self) -> datetime:
        """The last instant of its validity."""
        return self.certificate.not_valid_after_utc


@dataclass(frozen=True)
class Authority(CaCertificate):
    """A CA that can sign."""

    key: ec.EllipticCurvePrivateKey

    @cached_property
    def key_pem(self) -> bytes:
        """The private key as unencrypted PKCS #8 PEM."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@dataclass(frozen=True)
class Leaf:
    """A serving certificate with its key, as PEM; it lives in memory only."""

    pem: bytes
    key_pem: bytes
    names: tuple[str, ...]
    issuer: str
    """Fingerprint of the CA that signed it."""
    issued: datetime
    not_after: datetime

    def renewal(self) -> datetime:
        """When to mint the next one: at two thirds of the life, counted from its issue."""
        return self.issued + (self.not_after - self.issued) * 2 / 3


def service_names(*, service: str, namespace: str, domain: str) -> tuple[str, ...]:
    """The DNS names under which a Service is reached; the API server uses ``<service>.<namespace>.svc``."""
    return (
        service,
        f"{service}.{namespace}",
        f"{service}.{namespace}.svc",
        f"{service}.{namespace}.svc.{domain}",
    )


def _whole(instant: datetime) -> datetime:
    """X.509 knows whole seconds only; cutting off keeps an end from coming later than asked for."""
    return instant.replace(microsecond=0)


def _builder(
    *, subject: str, issuer: x509.Name | None, key: ec.EllipticCurvePublicKey, begin: datetime, end: datetime
) -> x509.CertificateBuilder:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject[:64])])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name if issuer is None else issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_whole(begin))
        .not_valid_after(_whole(end))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def create_authority(*, name: str, now: datetime, lifetime: timedelta) -> Authority:
    """Make a new CA on the curve P-256, valid from an hour ago until `lifetime` from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key()
    identifier = x509.SubjectKeyIdentifier.from_public_key(public)
    certificate = (
        _builder(
            subject=f"{name[:55]} {identifier.digest.hex()[:8]}",
            issuer=None,
            key=public,
            begin=now - BACKDATE,
            end=now + lifetime,
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(**(_NO_USAGE | {"key_cert_sign": True, "crl_sign": True})),
            critical=True,
        )
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate=certificate, key=key)


def issue_leaf(authority: Authority, *, names: Sequence[str], now: datetime, lifetime: timedelta) -> Leaf:
    """Mint a serving certificate for `names` (DNS names or addresses), valid from an hour ago.

    It never outlives its CA.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = authority.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    end = min(now + lifetime, authority.not_after)
    certificate = (
        _builder(
            subject=names[0],
            issuer=authority.certificate.subject,
            key=key.public_key(),
            begin=max(now - BACKDATE, authority.certificate.not_valid_before_utc),
            end=end,
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**(_NO_USAGE | {"digital_signature": True})), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Leaf(
        pem=certificate.public_bytes(Encoding.PEM),
        key_pem=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        names=tuple(names),
        issuer=authority.fingerprint,
        issued=now,
        not_after=certificate.not_valid_after_utc,
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def load_ca_certificates(pem: bytes) -> tuple[CaCertificate, ...]:
    """Read the CA certificates of a PEM text, in their order; raises `CertificateError` for any other kind.

    A bundle with a certificate that is not a CA's is refused by some verifiers as a whole.
    """
    try:
        certificates = x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise CertificateError(f"No certificates in PEM form: {error}") from error
    for certificate in certificates:
        if not _is_ca(certificate):
            raise CertificateError(f"{certificate.subject.rfc4514_string()} is not the certificate of a CA")
    return tuple(CaCertificate(certificate) for certificate in certificates)


def load_authority(certificate_pem: bytes, key_pem: bytes) -> Authority:
    """Read a CA and its key; raises `CertificateError` when they are broken or do not belong together."""
    certificates = load_ca_certificates(certificate_pem)
    if len(certificates) != 1:
        raise CertificateError(f"{len(certificates)} certificates where one CA is expected")
    certificate = certificates[0].certificate
    try:
        key = load_pem_private_key(key_pem, password=None)
    except (ValueError, TypeError) as error:
        raise CertificateError(f"The CA's key can't be read: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise CertificateError("The CA's key is not one of an elliptic curve")
    if _public(key.public_key()) != certificate.public_key().public_bytes(
        Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    ):
        raise CertificateError("The CA's key does not belong to its certificate")
    try:
        certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        certificate.verify_directly_issued_by(certificate)
    except (x509.ExtensionNotFound, InvalidSignature, ValueError, TypeError) as error:
        raise CertificateError(f"The CA's certificate is not one that signed itself: {error}") from error
    return Authority(certificate=certificate, key=key)


def bundle(authorities: Iterable[CaCertificate]) -> bytes:
    """The PEM text of the given CAs, each once, in the given order."""
    return b"".join({ca.fingerprint: ca.pem for ca in authorities}.values())


def _public(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False
