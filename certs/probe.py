"""The last word on a certificate: a TLS handshake with our own server, as the API server would do it."""

import asyncio
import ssl
from contextlib import suppress


async def handshake(*, port: int, name: str, bundle: bytes, seconds: float = 2.0) -> str | None:
    """Dial 127.0.0.1 as a client that trusts `bundle` and expects `name`; returns why it failed, or None."""
    context = ssl.SSLContext(
        ssl.PROTOCOL_TLS_CLIENT
    )  # unlike the default context it trusts nothing by itself
    try:
        context.load_verify_locations(cadata=bundle.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        return f"The CA bundle can't be read: {error}"
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    except TimeoutError:
        return f"No TLS handshake on port {port} within {seconds:g} s"
    except ssl.SSLCertVerificationError as error:
        return f"The CA bundle does not verify the certificate that is served: {error.verify_message}"
    except OSError as error:
        return f"No TLS handshake on port {port}: {error}"
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(seconds):
            await writer.wait_closed()
    return None
