"""A TLS handshake without sockets: whether this client accepts what that server serves."""

import ssl

from cryptography import x509


def client(bundle: bytes) -> ssl.SSLContext:
    """A client as strict as Python 3.13's default."""
    context = ssl.create_default_context(cadata=bundle.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """Shake hands and return the client's side; raises ``ssl.SSLError`` if it refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=name)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    pending = [near, far]
    while pending:
        for side in tuple(pending):
            try:
                side.do_handshake()
                pending.remove(side)
            except ssl.SSLWantReadError:
                continue
    return near


def served(side: ssl.SSLObject) -> x509.Certificate:
    """The certificate that the server showed."""
    der = side.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)
