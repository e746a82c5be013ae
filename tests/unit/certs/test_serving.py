import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from certs.authority import Leaf, create_authority, issue_leaf
from certs.errors import CertificateError
from certs.serving import LiveContext
from tests.unit.certs.handshakes import client, served, shake

NOW = datetime.now(UTC)
CA = create_authority(name="webhook-ca", now=NOW, lifetime=timedelta(days=30))


def leaf() -> Leaf:
    return issue_leaf(CA, names=("hook.ns.svc",), now=NOW, lifetime=timedelta(days=7))


def test_P13_new_certificate_is_served_from_the_next_handshake_on() -> None:
    live, first, second = LiveContext(), leaf(), leaf()
    live.load(first.pem, first.key_pem)
    open_connection = shake(live.ssl_context, client(CA.pem), "hook.ns.svc")
    live.load(second.pem, second.key_pem)
    assert served(open_connection) == x509.load_pem_x509_certificate(first.pem)
    new = served(shake(live.ssl_context, client(CA.pem), "hook.ns.svc"))
    assert new == x509.load_pem_x509_certificate(second.pem) == live.served


def test_W4_torn_pair_is_refused_and_the_last_good_one_stays() -> None:
    live, first, second = LiveContext(), leaf(), leaf()
    live.load(first.pem, first.key_pem)
    for certificate, key in [
        (second.pem, first.key_pem),
        (second.pem, b""),
        (b"", second.key_pem),
        (second.pem[:-40], second.key_pem),
        (b"garbage", b"garbage"),
    ]:
        with pytest.raises(CertificateError):
            live.load(certificate, key)
        assert served(shake(live.ssl_context, client(CA.pem), "hook.ns.svc")) == live.served
    assert live.served == x509.load_pem_x509_certificate(first.pem)


def test_W26_http_1_1_is_the_only_protocol_offered() -> None:
    live, pair = LiveContext(), leaf()
    live.load(pair.pem, pair.key_pem)
    chrome = client(CA.pem)
    chrome.set_alpn_protocols(["h2", "http/1.1"])
    assert shake(live.ssl_context, chrome, "hook.ns.svc").selected_alpn_protocol() == "http/1.1"
    only_h2 = client(CA.pem)
    only_h2.set_alpn_protocols(["h2"])
    assert shake(live.ssl_context, only_h2, "hook.ns.svc").selected_alpn_protocol() is None


def test_old_protocol_versions_are_refused() -> None:
    live, pair = LiveContext(), leaf()
    live.load(pair.pem, pair.key_pem)
    assert live.ssl_context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_handshake_before_the_first_certificate_fails_cleanly() -> None:
    with pytest.raises(ssl.SSLError):
        shake(LiveContext().ssl_context, client(CA.pem), "hook.ns.svc")


def test_certificate_of_another_kind_of_key_replaces_the_old_one() -> None:
    live, first = LiveContext(), leaf()
    live.load(first.pem, first.key_pem)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rsa")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    live.load(
        certificate.public_bytes(pem),
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    assert served(shake(live.ssl_context, trusting, "hook.ns.svc")) == certificate
