from __future__ import annotations

import pytest

from app.etcd import errors
from app.etcd.translate import translate


@pytest.mark.parametrize(
    ("code", "details", "expected"),
    [
        ("UNAVAILABLE", "etcdserver: unhealthy cluster", errors.Unhealthy),
        (
            "FAILED_PRECONDITION",
            "etcdserver: re-configuration failed due to not enough started members",
            errors.NotEnoughStarted,
        ),
        (
            "FAILED_PRECONDITION",
            "etcdserver: can only promote a learner member which is in sync with leader",
            errors.LearnerNotReady,
        ),
        ("FAILED_PRECONDITION", "etcdserver: can only promote a learner member", errors.NotLearner),
        ("FAILED_PRECONDITION", "etcdserver: too many learner members in cluster", errors.TooManyLearners),
        ("UNAVAILABLE", "etcdserver: rpc not supported for learner", errors.LearnerRefuses),
        ("FAILED_PRECONDITION", "etcdserver: Peer URLs already exists", errors.PeerURLExists),
        ("NOT_FOUND", "etcdserver: member not found", errors.MemberNotFound),
        ("FAILED_PRECONDITION", "etcdserver: not leader", errors.NotLeader),
        ("UNAVAILABLE", "etcdserver: no leader", errors.NoLeader),
        ("UNAVAILABLE", "etcdserver: leader changed", errors.LeaderChanged),
        ("UNAVAILABLE", "etcdserver: request timed out", errors.DeadlineExceeded),
        (
            "UNAVAILABLE",
            "etcdserver: request timed out, possibly due to connection lost",
            errors.DeadlineExceeded,
        ),
        ("RESOURCE_EXHAUSTED", "etcdserver: mvcc: database space exceeded", errors.NoSpace),
        ("RESOURCE_EXHAUSTED", "etcdserver: too many requests", errors.Overloaded),
        ("DATA_LOSS", "etcdserver: corrupt cluster", errors.Corrupt),
        ("INVALID_ARGUMENT", "etcdserver: user name is empty", errors.AuthRequired),
        ("UNAUTHENTICATED", "etcdserver: invalid auth token", errors.AuthRequired),
        ("PERMISSION_DENIED", "etcdserver: permission denied", errors.PermissionDenied),
        ("UNAVAILABLE", "etcdserver: not capable", errors.Unsupported),
        (
            "UNIMPLEMENTED",
            "unknown method Downgrade for service etcdserverpb.Maintenance",
            errors.Unsupported,
        ),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", errors.DeadlineExceeded),
        ("UNAVAILABLE", "Socket closed", errors.ConnectionLost),
        ("UNKNOWN", "something new", errors.EtcdError),
    ],
)
def test_an_error_is_told_by_its_text(code: str, details: str, expected: type[errors.EtcdError]) -> None:
    error = translate(code, details, target="10.0.0.1:2379")
    assert type(error) is expected
    assert str(error) == f"10.0.0.1:2379: {details}"


def test_what_was_never_sent_has_a_known_outcome() -> None:
    refused = translate(
        "UNAVAILABLE",
        "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: "
        "Failed to connect to remote host: Connection refused",
        target="t",
    )
    assert type(refused) is errors.Unreachable
    assert not refused.outcome_unknown


@pytest.mark.parametrize(
    "reason",
    [
        "Ssl handshake failed (TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: CERTIFICATE_VERIFY_FAILED",
        "Custom verification check failed with error: UNAUTHENTICATED: Hostname Verification Check failed.",
    ],
)
def test_a_failed_handshake_says_so(reason: str) -> None:
    details = f"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: {reason}"
    error = translate("UNAVAILABLE", details, target="t")
    assert type(error) is errors.TLSFailure
    assert not error.outcome_unknown


@pytest.mark.parametrize(
    ("code", "details"),
    [
        ("UNAVAILABLE", "Socket closed"),
        ("CANCELLED", ""),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded"),
        ("UNAVAILABLE", "etcdserver: request timed out"),
        ("UNAVAILABLE", "etcdserver: leader changed"),
        ("UNAVAILABLE", "etcdserver: server stopped"),
    ],
)
def test_what_may_have_been_carried_out_says_so(code: str, details: str) -> None:
    assert translate(code, details, target="t").outcome_unknown
