"""How a gRPC channel to a member is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

if TYPE_CHECKING:
    from app.etcd.endpoint import TLS, Endpoint

_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    # A proxy from the environment has no business between the operator and a Pod.
    ("grpc.enable_http_proxy", 0),
    # Without this, channels to one address share a connection, and closing or confirming one says nothing.
    ("grpc.use_local_subchannel_pool", 1),
    # One call is one attempt: only the caller knows whether it may be repeated.
    ("grpc.enable_retries", 0),
    # Members come and go; the defaults wait for 20 s to connect and up to 120 s between attempts.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 2000),
    ("grpc.max_reconnect_backoff_ms", 2000),
    # The largest value that etcd takes is 1.5 MiB unless set higher; its own client sets no limit at all.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
)


def open_channel(endpoint: Endpoint) -> grpc.aio.Channel:
    """Open a channel to a member; it connects with the first call.

    With TLS the certificate is checked against ``server_name``, while the IP address is dialled.
    """
    options: list[tuple[str, Any]] = list(_OPTIONS)
    if endpoint.tls is None:
        return grpc.aio.insecure_channel(endpoint.target, options=options)
    if endpoint.server_name:
        options.append(("grpc.ssl_target_name_override", endpoint.server_name))
        options.append(("grpc.default_authority", endpoint.server_name))
    return grpc.aio.secure_channel(endpoint.target, _credentials(endpoint.tls), options=options)


def _credentials(tls: TLS) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        root_certificates=tls.ca, private_key=tls.key, certificate_chain=tls.certificate
    )
