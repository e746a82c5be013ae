"""Through which member a change of the membership is sent.

The leader, as a rule. But the member that is asked judges by its own connections whether the cluster is well
enough, and can be wrong for good: an attempt to reach a Pod's old address that fails only after the new Pod
has connected makes it count that peer as lost, until the new connections break (etcd#14523: the pipeline and
the streams of etcd's rafthttp share one status, which only a new stream turns to active). A leader of 3.6.16
took no member for minutes so, with all of three healthy, two of whose Pods had been made anew.
"""

from collections.abc import Sequence

from app.api.status import Intent
from app.plan.observed import ListedMember, Observed
from app.plan.symptoms import refused

LEADER_SECONDS = 8.0
"""How long only the leader is asked: the 5 s that etcd waits for after a start, and some more."""


def through(
    observed: Observed, intent: Intent, voters: Sequence[ListedMember], *, leader_id: int
) -> ListedMember:
    """Choose one of the healthy ``voters`` to send a change through that was sent before.

    After the leader has refused it for a while each is asked in turn, but none to remove itself.
    """
    age = observed.ages.get(refused(intent), 0.0)
    leader = next(member for member in voters if member.id == leader_id)
    if age < LEADER_SECONDS:
        return leader
    asked = [member for member in voters if member.name != intent.member]
    return asked[int(age) % len(asked)] if asked else leader
