"""Raft's progress: a member that answers and applies nothing is not well.

Its port may be served by a process whose log has come to a halt: a disk that takes no more writes, a peer
connection that is half open. So of each member that answers it is timed for how long it has applied nothing
while another had applied more. A member that is slow and moves is none of these (a slow disk is no reason to
change the membership: etcd#13587).
"""

from app.api.status import Journal
from app.plan.latching import serving
from app.plan.observed import Observed

STUCK_SECONDS = 15.0
"""How long a member may apply nothing, with others ahead of it, before it counts as not serving."""


def overtaken(observed: Observed, journal: Journal) -> frozenset[str]:
    """The symptoms of the members that others are ahead of; another one with each entry that is applied."""
    if journal.latch is None:
        return frozenset()
    applied = {
        name: answer.raft_applied_index
        for name, answer in serving(observed, journal.latch.cluster_id).items()
    }
    most = max(applied.values(), default=0)
    return frozenset(_overtaken(name, index) for name, index in applied.items() if index < most)


def stuck_for(observed: Observed, member: str) -> float:
    """For how many seconds a member has applied nothing though others have."""
    answer = observed.answers.get(member)
    return observed.ages.get(_overtaken(member, answer.raft_applied_index), 0.0) if answer else 0.0


def stuck(observed: Observed, member: str) -> bool:
    """Whether that is so long that the member counts as not serving."""
    return stuck_for(observed, member) >= STUCK_SECONDS


def _overtaken(member: str, index: int) -> str:
    return f"overtaken/{member}/{index}"
