import ssl
from base64 import b64decode
from ipaddress import IPv4Address

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from tests.cluster.pki import Authority, private_key


def test_a_certificate_names_user_group_and_addresses() -> None:
    authority = Authority()
    issued = authority.issue(
        "system:node:node1", group="system:nodes", names=("node1",), addresses=(IPv4Address("10.0.0.1"),)
    )
    certificate = x509.load_pem_x509_certificate(issued.certificate)
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.pair.certificate))
    names = {attribute.oid: attribute.value for attribute in certificate.subject}
    assert names == {NameOID.COMMON_NAME: "system:node:node1", NameOID.ORGANIZATION_NAME: "system:nodes"}
    alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert alternatives.get_values_for_type(x509.DNSName) == ["system-node-node1", "node1"]
    assert alternatives.get_values_for_type(x509.IPAddress) == [IPv4Address("10.0.0.1")]


def test_a_kubeconfig_needs_no_other_file() -> None:
    authority = Authority()
    pair = authority.issue("admin", group="system:masters")
    read = yaml.safe_load(authority.kubeconfig("https://10.0.0.1:6443", pair))
    (cluster,), (user,) = read["clusters"], read["users"]
    assert cluster["cluster"]["server"] == "https://10.0.0.1:6443"
    ssl.create_default_context(cadata=b64decode(cluster["cluster"]["certificate-authority-data"]).decode())
    assert b64decode(user["user"]["client-certificate-data"]) == pair.certificate
    assert b64decode(user["user"]["client-key-data"]) == pair.key


def test_a_key_is_in_the_form_that_the_api_server_reads() -> None:
    assert private_key().startswith(b"-----BEGIN EC PRIVATE KEY-----")
    load_pem_private_key(private_key(), password=None)
