"""What is timed: states of members that matter once they have lasted.

Deadlines run on the leader's own monotonic clock, from its first observation. So a plan is told how long this
process has seen each of these, and neither a clock that jumps nor a takeover makes a deadline fall due.
"""

from app.api.status import Intent
from app.etcd import identity
from app.plan.health import health_of, quorum_lost
from app.plan.latching import serving
from app.plan.membership.promotion import doubted, unbelieved
from app.plan.observed import Lock, Observed, PodFacts
from app.plan.progress import overtaken
from app.plan.roster import listed, roster

NO_QUORUM = "no-quorum"
"""A quorum of the members is known to be down."""


def unhealthy(member: str) -> str:
    """A voter does not serve; silence alone does not say so while its kubelet finds it ready."""
    return f"unhealthy/{member}"


def running_on(pod: PodFacts) -> str:
    """A voter does not serve, and its container runs without having been started again."""
    return f"running/{pod.name}/{pod.restarts}"


def joining(member: str) -> str:
    """A learner has not become a voter."""
    return f"joining/{member}"


def refused(intent: Intent) -> str:
    """A change of the membership was sent, and the list shows nothing of it."""
    return f"refused/{intent.action}/{intent.member}"


def leaving(member: str) -> str:
    """The Pod of a learner is being deleted."""
    return f"leaving/{member}"


def stranger(member: str) -> str:
    """Somebody answers at a member's address for another cluster."""
    return f"stranger/{member}"


def locked(lock: Lock) -> str:
    """The old operator's lock has not been renewed."""
    return f"locked/{lock.what}/{lock.renewed}"


def symptoms(observed: Observed) -> frozenset[str]:
    """Everything about a cluster that is to be timed."""
    journal = observed.status.journal
    if journal.latch is None:
        return frozenset(locked(lock) for lock in observed.old_locks)
    healthy = serving(observed, journal.latch.cluster_id)
    learners = {name for name, member in listed(observed).items() if member.learner}
    others = {
        name
        for name, answer in observed.answers.items()
        if identity.text(answer.cluster_id) != journal.latch.cluster_id
    }
    down = [name for name in roster(journal) if name not in healthy and not _ready(observed, name)]
    return frozenset(
        [
            *map(unhealthy, down),
            *(running_on(pod) for name, pod in observed.pods.items() if name in down and pod.running),
            *(joining(name) for name in learners),
            *(
                leaving(name)
                for name in learners
                if name in observed.pods and observed.pods[name].terminating
            ),
            *(stranger(name) for name in others),
            *overtaken(observed, journal),
            *map(unbelieved, doubted(observed)),
            *((refused(journal.intent),) if journal.intent is not None else ()),
            *((NO_QUORUM,) if quorum_lost(observed, health_of(observed, journal)) else ()),
        ]
    )


def _ready(observed: Observed, member: str) -> bool:
    pod = observed.pods.get(member)
    return pod is not None and pod.ready and member not in observed.answers
