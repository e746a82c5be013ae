"""Promotions that are not believed yet.

What a quorum lists as a voter, some member may still know as a learner: behind for a moment, or for good,
since etcd before 3.5.24 did not always write a promotion down (etcd#18347). So every member is asked for its
own list while the cluster is not Ready. Until all that answer agree, nobody is added, and it is not Ready.
"""

from app.plan.observed import Observed
from app.plan.roster import listed

DOUBT_SECONDS = 10.0
"""How long a member may be behind with a promotion before that is trouble."""


def unbelieved(member: str) -> str:
    """The symptom that somebody lists a voter as a learner."""
    return f"unbelieved/{member}"


def doubted(observed: Observed) -> dict[str, tuple[str, ...]]:
    """The voters that some members, which are named, know as learners; one that was removed has no say."""
    found: dict[str, tuple[str, ...]] = {}
    now = listed(observed)
    known = {who: learners for who, learners in observed.learners_known.items() if who in now}
    for name, member in now.items():
        if member.learner:
            continue
        own = observed.answers.get(name)
        doubters = {who for who, learners in known.items() if member.id in learners}
        if own is not None and own.learner:
            doubters.add(name)
        if doubters:
            found[name] = tuple(sorted(doubters))
    return found


def explained(observed: Observed) -> str:
    """What is doubted and by whom, in a sentence; empty for nothing."""
    return "; ".join(
        f"{name} is a voter, and {', '.join(doubters)} still lists it as a learner"
        for name, doubters in doubted(observed).items()
    )


def lasting(observed: Observed) -> bool:
    """Whether a doubt has lasted so long that being behind does not explain it."""
    return any(observed.ages.get(unbelieved(name), 0.0) >= DOUBT_SECONDS for name in doubted(observed))
