"""Sends one change of the membership to etcd.

It is fenced three times over: the Lease must last longer than the call may take; the intent was swapped into
the custom resource's status before (see `app.plan.membership.changes`); and the connection must answer for
the cluster and the member that were meant, since Pod addresses are used again.
"""

from collections.abc import Callable

from app.etcd.client import Client, Dialer
from app.etcd.endpoint import Endpoint
from app.etcd.errors import AlreadyExists, LearnerNotReady, MemberNotFound, NotLearner, Unhealthy
from app.etcd.model import Alarm, AlarmType
from app.kube.errors import NotLeading
from app.ops.logging import get_logger
from app.plan.actions import AddMember, Disarm, MembershipAction, MoveLeader, PromoteMember, RemoveMember
from app.plan.membership.changes import CALL_SECONDS

log = get_logger(__name__)


class Membership:
    """Changes memberships while ``remaining`` seconds of leadership are left."""

    def __init__(self, dialer: Dialer, remaining: Callable[[], float]) -> None:
        self._dialer = dialer
        self._remaining = remaining

    async def send(self, action: MembershipAction) -> None:
        """Carry out a change; one that has been carried out already has succeeded.

        Raises `EtcdError`, with an outcome that may be unknown, and `NotLeading` where nothing was sent.
        """
        if self._remaining() <= 2 * CALL_SECONDS:
            raise NotLeading(
                f"{type(action).__name__} {action.member}: not sent, the Lease may run out first"
            )
        async with self._dialer.dial(Endpoint(action.via.address)) as client:
            await client.expect(
                cluster_id=action.via.cluster_id, member_id=action.via.member_id, deadline=CALL_SECONDS
            )
            try:
                await _call(client, action)
            except (AlreadyExists, NotLearner, MemberNotFound) as error:
                log.info("Found a change of the membership carried out", member=action.member, error=error)
            except (Unhealthy, LearnerNotReady) as error:
                # Etcd wants its members connected for 5 s, and 90 % of a small log can be less than we asked
                # for: normal answers right after a start.
                log.info("Etcd does not take the change yet", member=action.member, error=error)
            else:
                log.info("Changed the membership", change=type(action).__name__, member=action.member)


async def _call(client: Client, action: MembershipAction) -> None:
    match action:
        case AddMember():
            await client.member_add([action.peer_url], learner=action.learner, deadline=CALL_SECONDS)
        case PromoteMember():
            await client.member_promote(action.id, deadline=CALL_SECONDS)
        case RemoveMember():
            await client.member_remove(action.id, deadline=CALL_SECONDS)
        case MoveLeader():
            await client.move_leader(action.target, deadline=CALL_SECONDS)
        case Disarm():
            await client.disarm(Alarm(action.id, AlarmType.CORRUPT), deadline=CALL_SECONDS)
