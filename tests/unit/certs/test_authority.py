import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.authority import (
    Authority,
    bundle,
    create_authority,
    issue_leaf,
    load_authority,
    load_ca_certificates,
    service_names,
)
from certs.errors import CertificateError
from certs.serving import LiveContext
from tests.unit.certs.handshakes import client, shake

NOW = datetime.now(UTC)
NAMES = service_names(service="hook", namespace="ns", domain="cluster.local")
DAY = timedelta(days=1)


def authority(lifetime: timedelta = 365 * DAY) -> Authority:
    return create_authority(name="webhook-ca", now=NOW, lifetime=lifetime)


def extension(
    certificate: x509.Certificate, kind: type[x509.ExtensionType]
) -> x509.Extension[x509.ExtensionType]:
    return certificate.extensions.get_extension_for_class(kind)


def test_W24_leaf_has_every_name_of_the_service_and_does_not_rely_on_the_common_name() -> None:
    leaf = x509.load_pem_x509_certificate(issue_leaf(authority(), names=NAMES, now=NOW, lifetime=7 * DAY).pem)
    names = extension(leaf, x509.SubjectAlternativeName).value
    assert isinstance(names, x509.SubjectAlternativeName)
    assert names.get_values_for_type(x509.DNSName) == [
        "hook",
        "hook.ns",
        "hook.ns.svc",
        "hook.ns.svc.cluster.local",
    ]


def test_W24_common_names_stay_within_64_characters() -> None:
    names = service_names(service="s" * 63, namespace="n" * 63, domain="cluster.local")
    ca = create_authority(name="c" * 200, now=NOW, lifetime=DAY)
    leaf = x509.load_pem_x509_certificate(issue_leaf(ca, names=names, now=NOW, lifetime=DAY).pem)
    for certificate in (ca.certificate, leaf):
        (common,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert len(common.value) <= 64


def test_leaf_is_a_server_certificate_and_nothing_else() -> None:
    leaf = x509.load_pem_x509_certificate(issue_leaf(authority(), names=NAMES, now=NOW, lifetime=7 * DAY).pem)
    usage = extension(leaf, x509.KeyUsage)
    assert usage.critical
    assert isinstance(usage.value, x509.KeyUsage)
    assert usage.value.digital_signature
    assert not usage.value.key_cert_sign
    extended = extension(leaf, x509.ExtendedKeyUsage).value
    assert list(extended) == [ExtendedKeyUsageOID.SERVER_AUTH]  # type: ignore[call-overload]  # an iterable


def test_identifiers_chain_leaf_to_authority() -> None:
    ca = authority()
    leaf = x509.load_pem_x509_certificate(issue_leaf(ca, names=NAMES, now=NOW, lifetime=7 * DAY).pem)
    subject = extension(ca.certificate, x509.SubjectKeyIdentifier).value
    issuer = extension(leaf, x509.AuthorityKeyIdentifier).value
    assert isinstance(subject, x509.SubjectKeyIdentifier)
    assert isinstance(issuer, x509.AuthorityKeyIdentifier)
    assert issuer.key_identifier == subject.digest


def test_validity_begins_an_hour_ago_for_clocks_that_are_behind() -> None:
    ca = authority()
    leaf = x509.load_pem_x509_certificate(issue_leaf(ca, names=NAMES, now=NOW, lifetime=7 * DAY).pem)
    hour_ago = NOW.replace(microsecond=0) - timedelta(hours=1)
    assert ca.certificate.not_valid_before_utc == hour_ago
    assert leaf.not_valid_before_utc == hour_ago


def test_leaf_never_outlives_its_authority() -> None:
    ca = authority(lifetime=2 * DAY)
    leaf = issue_leaf(ca, names=NAMES, now=NOW, lifetime=7 * DAY)
    assert leaf.not_after == ca.not_after


def test_W1_leaf_is_renewed_at_two_thirds_of_its_life() -> None:
    leaf = issue_leaf(authority(), names=NAMES, now=NOW.replace(microsecond=0), lifetime=3 * DAY)
    assert leaf.renewal() == NOW.replace(microsecond=0) + 2 * DAY


@pytest.mark.parametrize("name", NAMES)
def test_strict_client_accepts_the_chain_under_each_name(name: str) -> None:
    ca, other = authority(), authority()
    live = LiveContext()
    leaf = issue_leaf(ca, names=NAMES, now=NOW, lifetime=7 * DAY)
    live.load(leaf.pem, leaf.key_pem)
    shake(live.ssl_context, client(bundle([other, ca])), name)


def test_strict_client_refuses_another_name_and_another_authority() -> None:
    ca = authority()
    live = LiveContext()
    leaf = issue_leaf(ca, names=NAMES, now=NOW, lifetime=7 * DAY)
    live.load(leaf.pem, leaf.key_pem)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(live.ssl_context, client(ca.pem), "hook.other.svc")
    with pytest.raises(ssl.SSLCertVerificationError):
        shake(live.ssl_context, client(authority().pem), "hook.ns.svc")


def test_authority_survives_being_written_and_read() -> None:
    ca = authority()
    read = load_authority(ca.pem, ca.key_pem)
    assert read.fingerprint == ca.fingerprint
    assert read.key_pem == ca.key_pem


def test_bundle_has_each_authority_once() -> None:
    first, second = authority(), authority()
    assert bundle([first, second, first]) == first.pem + second.pem
    assert [ca.fingerprint for ca in load_ca_certificates(first.pem + second.pem)] == [
        first.fingerprint,
        second.fingerprint,
    ]


def _rsa_like_certificate() -> tuple[bytes, bytes]:
    """A certificate that signed itself, and is not a CA's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "self")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + DAY)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return certificate.public_bytes(pem), key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_broken_authorities_are_refused_with_a_reason() -> None:
    ca, other = authority(), authority()
    self_signed, its_key = _rsa_like_certificate()
    leaf = issue_leaf(ca, names=NAMES, now=NOW, lifetime=DAY)
    for certificate, key in [
        (b"", b""),
        (b"garbage", ca.key_pem),
        (ca.pem, b""),
        (ca.pem, b"garbage"),
        (ca.pem[:200], ca.key_pem),
        (ca.pem, ca.key_pem[:100]),
        (ca.pem, other.key_pem),
        (ca.pem + other.pem, ca.key_pem),
        (self_signed, its_key),
        (leaf.pem, leaf.key_pem),
    ]:
        with pytest.raises(CertificateError):
            load_authority(certificate, key)
