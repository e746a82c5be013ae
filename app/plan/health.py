"""Who of the members serves, and whether that is a quorum."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.api.status import Journal
from app.etcd.model import quorum
from app.plan.latching import serving
from app.plan.observed import Answer, Observed
from app.plan.progress import stuck
from app.plan.roster import listed, roster


@dataclass(frozen=True, slots=True)
class Health:
    """What a look says of the members.

    Who serves (its own word), and who is ready (the kubelet's as well).
    """

    members: tuple[str, ...]
    serving: Mapping[str, Answer]
    ready: tuple[str, ...]
    learners: frozenset[str] = frozenset()

    @property
    def voters(self) -> tuple[str, ...]:
        """The members that count for the quorum."""
        return tuple(name for name in self.members if name not in self.learners)

    @property
    def quorum(self) -> int:
        """How many voters have to serve."""
        return quorum(len(self.voters))

    def enough(self, names: Iterable[str]) -> bool:
        """Whether there is a quorum of voters among these members."""
        return sum(name not in self.learners for name in names) >= self.quorum


def health_of(observed: Observed, journal: Journal) -> Health:
    """Judge the members by one look."""
    record = journal.bootstrap
    if record is None:
        return Health((), {}, ())
    members = roster(journal)
    answers = {
        name: answer
        for name, answer in serving(observed, record.cluster_id).items()
        if not stuck(observed, name)
    }
    ready = tuple(
        name for name in members if name in answers and name in observed.pods and observed.pods[name].ready
    )
    learners = frozenset(name for name, member in listed(observed).items() if member.learner)
    return Health(members, answers, ready, learners)


def why_unready(observed: Observed, health: Health, name: str) -> str:
    """One word for why a member is not ready."""
    pod = observed.pods.get(name)
    if pod is None:
        return "Missing" if name in observed.absent else "Unknown"
    if pod.terminating:
        return "Terminating"
    if pod.trouble is not None:
        return pod.trouble[0]
    if not pod.running:
        return "NotRunning"
    if stuck(observed, name):
        return "NotProgressing"
    return "NotReady" if name in health.serving else "NotServing"


def quorum_lost(observed: Observed, health: Health) -> bool:
    """Whether so many members are known to be down that the others can't be a quorum."""
    return not health.enough(health.serving) and not health.enough(
        name for name in health.members if not _known_down(observed, name)
    )


def _known_down(observed: Observed, name: str) -> bool:
    """Tell a member that is down from one of which nothing is known.

    The kubelet's word, the absence of the Pod that a live read confirmed, or the member's own word that it
    follows no leader are evidence; silence is none.
    """
    pod = observed.pods.get(name)
    if pod is None:
        return name in observed.absent
    return not pod.ready or (name in observed.answers and not observed.answers[name].leader)
