"""From a gRPC status to an error of ours: pure, and the only place that knows etcd's texts."""

from __future__ import annotations

from typing import Final

from app.etcd import errors

_PREFIX: Final = "etcdserver: "

_BY_TEXT: Final[dict[str, type[errors.EtcdError]]] = {
    "unhealthy cluster": errors.Unhealthy,
    "re-configuration failed due to not enough started members": errors.NotEnoughStarted,
    "can only promote a learner member which is in sync with leader": errors.LearnerNotReady,
    "can only promote a learner member": errors.NotLearner,
    "too many learner members in cluster": errors.TooManyLearners,
    "rpc not supported for learner": errors.LearnerRefuses,
    "member not found": errors.MemberNotFound,
    "member ID already exist": errors.AlreadyExists,
    "Peer URLs already exists": errors.PeerURLExists,
    "given member URLs are invalid": errors.BadPeerURLs,
    "no leader": errors.NoLeader,
    "not leader": errors.NotLeader,
    "leader changed": errors.LeaderChanged,
    "bad leader transferee": errors.BadTransferee,
    "server stopped": errors.Stopping,
    "cluster ID mismatch": errors.IdentityMismatch,
    "mvcc: database space exceeded": errors.NoSpace,
    "mvcc: required revision has been compacted": errors.Compacted,
    "mvcc: required revision is a future revision": errors.FutureRevision,
    "corrupt cluster": errors.Corrupt,
    "too many requests": errors.Overloaded,
    "user name is empty": errors.AuthRequired,
    "invalid auth token": errors.AuthRequired,
    "revision of auth store is old": errors.AuthRequired,
    "authentication failed, invalid user ID or password": errors.AuthRequired,
    "permission denied": errors.PermissionDenied,
    "not capable": errors.Unsupported,
    "wrong downgrade target version format": errors.DowngradeRefused,
    "invalid downgrade target version": errors.DowngradeRefused,
    "cluster version not found during downgrade": errors.DowngradeRefused,
    "cluster has a downgrade job in progress": errors.DowngradeRefused,
    "no inflight downgrade job": errors.DowngradeRefused,
    "context deadline exceeded": errors.DeadlineExceeded,
}

_BY_CODE: Final[dict[str, type[errors.EtcdError]]] = {
    "DEADLINE_EXCEEDED": errors.DeadlineExceeded,
    "UNIMPLEMENTED": errors.Unsupported,
    "UNAUTHENTICATED": errors.AuthRequired,
    "PERMISSION_DENIED": errors.PermissionDenied,
    "RESOURCE_EXHAUSTED": errors.Overloaded,
    "CANCELLED": errors.ConnectionLost,
    "INTERNAL": errors.ConnectionLost,
}

_NEVER_SENT: Final = (
    "failed to connect to all addresses",
    "connections to all backends failing",
    "no addresses",
)
_HANDSHAKE: Final = ("handshake", "certificate", "verification check", "ssl", "tls")


def translate(code: str, details: str, *, target: str) -> errors.EtcdError:
    """Name the error that a call to ``target`` ended with.

    ``code`` is gRPC's name of the status, ``details`` its text. A text of etcd's decides alone: some of its
    errors have another code in other versions (``not capable``), and its own timeouts are ``UNAVAILABLE``, as
    a refused connection is.
    """
    text = details.strip()
    message = f"{target}: {text or code}"
    known = text.removeprefix(_PREFIX)
    if known in _BY_TEXT:
        return _BY_TEXT[known](message)
    if known.startswith("request timed out"):
        return errors.DeadlineExceeded(message)
    if code == "UNAVAILABLE":
        return _connection_fault(text)(message)
    return _BY_CODE.get(code, errors.EtcdError)(message)


def _connection_fault(text: str) -> type[errors.EtcdError]:
    lowered = text.lower()
    if not any(phrase in lowered for phrase in _NEVER_SENT):
        return errors.ConnectionLost
    return errors.TLSFailure if any(word in lowered for word in _HANDSHAKE) else errors.Unreachable
