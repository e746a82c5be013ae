"""What can go wrong when we talk to etcd, as one tree.

gRPC gives a code and a text; the codes are coarse (``FAILED_PRECONDITION`` stands for a dozen things), so an
error is told by etcd's text first and by the code where the text is not one of etcd's. The texts are those of
etcd's ``api/v3rpc/rpctypes/error.go`` and are the same from 3.4 to 3.7.

The one question that decides what may be done next is whether the call *may have been carried out*. A change
that timed out, or whose connection broke, or that met a change of leader, is ``outcome_unknown``: list again
before trying again. All other errors mean that nothing happened.
"""

# ruff: noqa: N818 - the names are the terms of etcd and gRPC for what happened

from __future__ import annotations

from typing import ClassVar

from app.errors import OperatorError


class EtcdError(OperatorError):
    """Any fault in talking to etcd; as itself, one that we do not know by name."""

    outcome_unknown: ClassVar[bool] = False


class Unreachable(EtcdError):
    """No connection could be made: nothing was sent, and nothing is known about the member."""


class ConnectionLost(Unreachable):
    """The connection broke while the call was under way."""

    outcome_unknown = True


class DeadlineExceeded(EtcdError):
    """No answer in our deadline, or etcd gave up on its own: what a member without a quorum looks like."""

    outcome_unknown = True


class LeaderChanged(EtcdError):
    """The leader changed while the call was under way; the proposal may still be committed."""

    outcome_unknown = True


class Stopping(EtcdError):
    """The member is shutting down; what it had proposed may still be committed."""

    outcome_unknown = True


class NoLeader(EtcdError):
    """The member knows no leader."""


class NotLeader(EtcdError):
    """The call must go to the leader (MoveLeader)."""


class BadTransferee(EtcdError):
    """Leadership can't go to that member: it is a learner, removed or not connected."""


class Unhealthy(EtcdError):
    """The serving member has not been connected for 5 s to the quorum that the change needs.

    It is the answer for the first 5 s after a start, and while a member is down; etcd checks it so
    that a change never costs the quorum (``--strict-reconfig-check``).
    """


class NotEnoughStarted(Unhealthy):
    """The change would leave fewer started members than a quorum."""


class MemberNotFound(EtcdError):
    """The id is not in the membership, or was removed from it.

    An add says so too, when the same peer URL was added and removed within the second: the id is the old one.
    """


class AlreadyExists(EtcdError):
    """The member is in the membership already: an earlier add of ours may have been applied.

    As itself it comes when an add is repeated within the second: the id of an added member is a hash of its
    peer URLs and the time in whole seconds.
    """


class PeerURLExists(AlreadyExists):
    """A member with one of these peer URLs is listed."""


class BadPeerURLs(EtcdError):
    """The peer URLs are not ones that etcd accepts."""


class TooManyLearners(EtcdError):
    """There is a learner already, and etcd takes one at a time."""


class NotLearner(EtcdError):
    """The member to be promoted is a voter: an earlier promotion of ours may have been applied."""


class LearnerNotReady(EtcdError):
    """The learner has less than 90 % of the leader's raft log."""


class LearnerRefuses(EtcdError):
    """A learner serves only Status and serializable reads."""


class AuthRequired(EtcdError):
    """Authentication is on, and the call had no token, or one that is not (or no longer) valid."""


class PermissionDenied(EtcdError):
    """The user or the common name of the certificate has no permission for this call."""


class NoSpace(EtcdError):
    """The NOSPACE alarm is on: the database reached its quota, and writes are refused."""


class Corrupt(EtcdError):
    """The CORRUPT alarm is on: the members' data differ."""


class Compacted(EtcdError):
    """The revision has been compacted away."""


class FutureRevision(EtcdError):
    """The revision does not exist yet: the member is behind, or it lost data."""


class Overloaded(EtcdError):
    """The member has too many requests under way and refused this one."""


class DowngradeRefused(EtcdError):
    """The downgrade is not one by a single minor, or another is (or none is) under way."""


class Unsupported(EtcdError):
    """The member's version, or the cluster version, does not know the call."""


class TLSFailure(Unreachable):
    """The TLS handshake failed: a wrong CA, name or client certificate, or plain text on one side."""


class IdentityMismatch(EtcdError):
    """The member that answers is not the one that was meant; an IP address may belong to another by now."""


class Malformed(EtcdError):
    """The answer is not one of etcd's: something else may listen at that address."""
