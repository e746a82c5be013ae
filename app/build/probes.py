"""The probes of a member: plain HTTP on the metrics port, which answers before it has joined a quorum.

``/livez`` needs no quorum, so an outage restarts nobody; it hangs while the member defragments (2 s per 300
MB were measured), so its budget grows with the quota. ``/readyz`` costs a linearizable read, hence the long
timeout. ``/health`` is never used: one NOSPACE alarm turns it to 503 on every member at once (etcd#14497).
The two exist from 3.5.11 and 3.4.29 on; an older etcd is probed by opening its client port.
"""

from app.api.base import JsonObject
from app.etcd.flags import CLIENT_PORT, METRICS_PORT
from app.etcd.version import Version, parse

DEFAULT_QUOTA_BYTES = 2 * 1024**3

_PERIOD = 5
_TIMEOUT = 5
_START_BUDGET = 300


def probes(version: str, *, quota_bytes: int = DEFAULT_QUOTA_BYTES) -> JsonObject:
    """The startup, liveness and readiness probes for a member of this version and quota (bytes)."""
    modern = _has_livez(parse(version))
    budget = max(30, 3 * quota_bytes // 100_000_000)
    alive, ready = (_http("/livez"), _http("/readyz")) if modern else (_tcp(), _tcp())
    return {
        "startupProbe": {
            **alive,
            "periodSeconds": 1,
            "timeoutSeconds": _TIMEOUT,
            "failureThreshold": max(_START_BUDGET, budget),
        },
        "livenessProbe": {
            **alive,
            "periodSeconds": _PERIOD,
            "timeoutSeconds": _TIMEOUT,
            "failureThreshold": -(-budget // _PERIOD),
        },
        "readinessProbe": {
            **ready,
            "periodSeconds": _PERIOD,
            "timeoutSeconds": _TIMEOUT,
            "failureThreshold": 2,
        },
    }


def _has_livez(version: Version) -> bool:
    if version.series == (3, 4):
        return version >= (3, 4, 29)
    return version >= (3, 5, 11)


def _http(path: str) -> JsonObject:
    return {"httpGet": {"path": path, "port": METRICS_PORT, "scheme": "HTTP"}}


def _tcp() -> JsonObject:
    return {"tcpSocket": {"port": CLIENT_PORT}}
