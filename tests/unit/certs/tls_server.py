"""A TLS server in a thread, which shakes hands with whoever comes and hangs up."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread


@contextmanager
def tls_server(context: ssl.SSLContext) -> Iterator[int]:
    """Listen on a free port of 127.0.0.1, which is what it yields."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError), context.wrap_socket(connection, server_side=True) as tls:
                tls.recv(1)

    thread = Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
