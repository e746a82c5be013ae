"""How a member is started: what goes into its arguments, and what into its environment.

A setting of etcd has one way in, since a flag and an environment variable for the same setting are fatal to
it. The **arguments** are what never changes while the Pod lives. The **environment** is what may: it is fed
from the Pod's annotations, which the kubelet resolves anew at each start of the container, so that the
initial cluster can be turned to ``existing`` once it has formed, and the settings that differ between
minors of etcd change in the same request as the image.

So the *names* of the variables are fixed for a Pod, whatever its version, and a setting that the version at
hand does not have has an empty value. An empty variable is an absent one to etcd (it logs a warning), while
an unknown flag would kill it; but an empty variable still collides with a flag, and that is why a name is
in either set and never in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.etcd.version import Version, parse

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

PEER_PORT: Final = 2380
CLIENT_PORT: Final = 2379
METRICS_PORT: Final = 2381

INITIAL_CLUSTER: Final = "ETCD_INITIAL_CLUSTER"
INITIAL_CLUSTER_STATE: Final = "ETCD_INITIAL_CLUSTER_STATE"
INITIAL_CLUSTER_TOKEN: Final = "ETCD_INITIAL_CLUSTER_TOKEN"  # noqa: S105 - a name, and no secret either

# Go listens on all addresses of both families for this wildcard, and on a node without IPv6 for IPv4 alone;
# the other wildcard fails there.
_ANY: Final = "0.0.0.0"  # noqa: S104 - a Pod's address is not known before it starts

_INITIAL_CORRUPT_CHECK: Final = "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK"
_COMPACT_HASH_CHECK: Final = "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED"
_COMPACT_HASH_CHECK_TIME_3_5: Final = "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_TIME"
_FEATURE_GATES: Final = "ETCD_FEATURE_GATES"
_COMPACT_HASH_CHECK_TIME: Final = "ETCD_COMPACT_HASH_CHECK_TIME"
_CHECK_TIME: Final = "1m"

# The two spellings of one thing exclude each other: etcd 3.6 has both, and refuses a start with both.
_CORRUPTION_CHECKS: Final = (_INITIAL_CORRUPT_CHECK, _COMPACT_HASH_CHECK, _FEATURE_GATES)
_CHECK_TIMES: Final = (_COMPACT_HASH_CHECK_TIME_3_5, _COMPACT_HASH_CHECK_TIME)

_LISTEN_METRICS_URLS_SINCE: Final = (3, 3)
_PRE_VOTE_SINCE: Final = (3, 4)
_COMPACT_HASH_CHECK_SINCE: Final = (3, 5, 5)
_FEATURE_GATES_SINCE: Final = (3, 6)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths, in the member's container, of the certificate, the key and the CAs of one plane."""

    certificate: str
    key: str
    ca: str


def arguments(
    version: str,
    *,
    name: str,
    peer_url: str,
    client_url: str,
    data_dir: str,
    peer_tls: Certificates | None = None,
    client_tls: Certificates | None = None,
    own: Collection[str] = (),
) -> tuple[str, ...]:
    """Return the arguments of a member, in a fixed order, without the program itself.

    ``peer_url`` and ``client_url`` are what the member advertises, by its DNS name. ``own`` names the
    environment variables that the user sets; a default of ours for the same setting is left out. The metrics
    port speaks plain HTTP in every case, so that probes need no certificate. Raises ValueError for an
    unreadable version.
    """
    parsed = parse(version)
    settings = {
        "name": name,
        "data-dir": data_dir,
        "listen-peer-urls": f"{_scheme(peer_tls)}://{_ANY}:{PEER_PORT}",
        "initial-advertise-peer-urls": peer_url,
        "listen-client-urls": f"{_scheme(client_tls)}://{_ANY}:{CLIENT_PORT}",
        "advertise-client-urls": client_url,
    }
    if parsed >= _LISTEN_METRICS_URLS_SINCE:
        settings["listen-metrics-urls"] = f"http://{_ANY}:{METRICS_PORT}"
    if peer_tls is not None:
        settings |= _tls("peer-", peer_tls)
    if client_tls is not None:
        settings |= _tls("", client_tls)
    if parsed >= _PRE_VOTE_SINCE:
        # Both are the default from 3.5 on: a member that was cut off must not depose the leader on its
        # return, and the log is to be read by programs.
        settings |= {"pre-vote": "true", "logger": "zap"}
    return tuple(f"--{flag}={value}" for flag, value in settings.items() if variable(flag) not in own)


def environment(
    version: str,
    *,
    cluster: Mapping[str, str],
    state: str,
    token: str,
    settings: Mapping[str, str] | None = None,
    own: Collection[str] = (),
) -> dict[str, str]:
    """Return the variables that are fed by annotations, an empty value for what is not set.

    ``cluster`` gives the peer URL of each initial member by name, ``state`` is ``new`` or ``existing``,
    ``token`` the cluster's token. ``settings`` are the user's, by flag name (``quota-backend-bytes``);
    ``own`` as in ``arguments``. The names returned depend on ``settings`` and ``own`` alone, never on the
    version.
    """
    parsed = parse(version)
    values = dict.fromkeys((*_CORRUPTION_CHECKS, *_CHECK_TIMES), "")
    values |= _corruption_checks(parsed)
    for group in (_CORRUPTION_CHECKS, _CHECK_TIMES):
        if any(name in own for name in group):
            values |= dict.fromkeys(group, "")
    values |= {variable(flag): value for flag, value in (settings or {}).items()}
    values = {name: value for name, value in values.items() if name not in own}
    return {
        INITIAL_CLUSTER: initial_cluster(cluster),
        INITIAL_CLUSTER_STATE: state,
        INITIAL_CLUSTER_TOKEN: token,
        **values,
    }


def initial_cluster(peer_urls: Mapping[str, str]) -> str:
    """Write an initial cluster as etcd reads it, in the order of the names."""
    return ",".join(f"{name}={url}" for name, url in sorted(peer_urls.items()))


def variable(flag: str) -> str:
    """Return the environment variable of a flag."""
    return "ETCD_" + flag.upper().replace("-", "_")


def _corruption_checks(version: Version) -> dict[str, str]:
    if version >= _FEATURE_GATES_SINCE:
        gates = "InitialCorruptCheck=true,CompactHashCheck=true"
        return {_FEATURE_GATES: gates, _COMPACT_HASH_CHECK_TIME: _CHECK_TIME}
    if version >= _COMPACT_HASH_CHECK_SINCE:
        checks = dict.fromkeys((_INITIAL_CORRUPT_CHECK, _COMPACT_HASH_CHECK), "true")
        return checks | {_COMPACT_HASH_CHECK_TIME_3_5: _CHECK_TIME}
    return {}


def _scheme(tls: Certificates | None) -> str:
    return "http" if tls is None else "https"


def _tls(prefix: str, files: Certificates) -> dict[str, str]:
    return {
        f"{prefix}client-cert-auth": "true",
        f"{prefix}trusted-ca-file": files.ca,
        f"{prefix}cert-file": files.certificate,
        f"{prefix}key-file": files.key,
    }
