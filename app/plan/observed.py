"""What a decision is made from: one frozen snapshot of a cluster, taken by `app.observe`.

Three states are kept apart throughout: known to be there, known to be absent, and *unknown*. A member that
did not answer has no entry in `Observed.answers`; a Pod or volume that the cache lacks is listed in
`Observed.absent` only after a live read by name said so too. A decision never takes unknown for absent or
dead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from app.api.status import ClusterStatus
from app.plan.revision import REVISION

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Task(StrEnum):
    """What a Pod does beside a member's volume while the member does not run."""

    INSPECT = "inspect-wal"
    """Read how far the log reaches."""
    FORCE = "force-new-cluster"
    """Run etcd once so that it forgets all other members."""

    def pod(self, member: str) -> str:
        """The name of the Pod that does this for a member."""
        return f"{member}-{self}"


@dataclass(frozen=True, slots=True)
class ClusterRef:
    """The custom resource that everything below belongs to."""

    name: str
    namespace: str
    uid: str
    generation: int
    deleting: bool = False

    @property
    def key(self) -> str:
        """``namespace/name``, as caches and queues know the custom resource."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A Pod under this cluster's labels whose controller is this cluster.

    ``running``, ``ready`` and ``started`` (it has run at some time) speak of the etcd container; ``terminal``
    of the Pod (phase Succeeded or Failed); ``last_words`` are the end of etcd's log from when it last ended
    by itself, ``out_of_memory`` whether it was killed for its memory then; ``trouble`` is a reason and the
    words of the scheduler or kubelet where the Pod can't start.
    """

    name: str
    uid: str
    resource_version: str
    ip: str = ""
    node: str = ""
    phase: str = ""
    terminating: bool = False
    running: bool = False
    ready: bool = False
    started: bool = False
    restarts: int = 0
    last_words: str = ""
    out_of_memory: bool = False
    trouble: tuple[str, str] | None = None
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def revision(self) -> str:
        """The hash of what the user asked for when the Pod was made."""
        return self.annotations.get(REVISION, "")

    @property
    def terminal(self) -> bool:
        """The Pod has ended and its containers will not start again (Kubernetes: Pod lifecycle)."""
        return self.phase in {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """A PersistentVolumeClaim of this cluster; one that is ``retained`` outlives the custom resource.

    ``requested`` and ``capacity`` are quantities of storage: what is asked for, and what there is.
    """

    name: str
    uid: str
    resource_version: str
    terminating: bool = False
    retained: bool = False
    quarantined: bool = False
    requested: str = ""
    capacity: str = ""
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """A Service of this cluster."""

    name: str
    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True)
class BudgetFacts:
    """A PodDisruptionBudget of the cluster's namespace: ours, or one of somebody else's.

    ``selects`` says whether it selects a member's Pod, ``min_available`` is the integer in it (None for
    anything else), and ``drifted`` whether anything else in it is not as we would write it.
    ``terminating`` is also one whose owner is an earlier cluster of this name.
    """

    name: str
    uid: str
    resource_version: str
    ours: bool
    selects: bool = False
    min_available: int | None = None
    drifted: bool = False
    terminating: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a member said of itself; ids are etcd's 64-bit numbers, sizes are in bytes.

    ``corrupt`` are the ids for which a CORRUPT alarm is on; 0 where etcd could not tell whose data is wrong.
    """

    cluster_id: int
    member_id: int
    leader: int
    version: str
    revision: int
    raft_index: int
    raft_term: int
    raft_applied_index: int
    db_size: int
    db_size_in_use: int
    learner: bool = False
    corrupt: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ListedMember:
    """A member as etcd's own list has it."""

    id: int
    name: str
    peer_url: str
    learner: bool = False
    started: bool = True


@dataclass(frozen=True, slots=True)
class Helper:
    """A Pod that does one task for a member; ``said`` are its last words.

    ``answer`` and ``members`` are what the etcd in it says, where one runs.
    """

    pod: PodFacts
    member: str
    task: str
    token: str
    said: str = ""
    answer: Answer | None = None
    members: tuple[ListedMember, ...] | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What the user orders by annotation, by the name of an incident.

    ``token``: to go on with one member's data. ``fenced`` are members that run nowhere. ``anew``: to found
    the cluster anew, empty. ``adopt``: the id of an earlier cluster whose claims are to be gone on with.
    """

    token: str = ""
    fenced: frozenset[str] = frozenset()
    anew: str = ""
    adopt: str = ""


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock of the old operator's that somebody is noted to hold.

    ``renewed`` differs with each renewal, and one that has not been renewed for ``seconds`` has run out.
    """

    what: str
    holder: str
    renewed: str
    seconds: float


_NO_ORDER = Order()


@dataclass(frozen=True, slots=True)
class Observed:
    """One look at a cluster.

    ``services`` are those of ours that exist, ``drifted`` those among them that are not as we would write
    them; ``former_services`` are ours under a name that is not wanted any more, ``client_service`` is the one
    for clients.

    ``refusals`` says why claims may not grow to what the spec asks for.

    ``absent`` and ``absent_volumes`` name Pods and claims whose absence a live read confirmed.
    ``stray`` are ours without our labels, by kind, name and uid. ``members`` is etcd's list as a member with
    a quorum gave it, None when nobody could; ``learners_known`` are the ids that each member itself lists as
    learners, asked for while the cluster is not Ready. ``waits`` says for how many seconds more the Pod of a
    member that keeps ending is not made anew.

    ``budgets`` are ours and all that are not an EtcdCluster's, None where they were not looked at.

    ``locked`` are members that answer nobody without a user, since authentication is on. ``gauges_due`` is
    false while values that change all the time were written less than a minute ago.

    ``helpers`` are the Pods of a recovery by their names; those in ``absent_helpers`` are not there, as a
    live read confirmed. ``order`` is what the user orders.

    ``ages`` says for how many seconds this process has seen each symptom of `app.plan.symptoms`, and
    ``leading_for`` for how many it has led, both on its own monotonic clock.

    Without a record, ``unseen`` are objects of this cluster that a live list shows and the caches lack.

    ``old_locks`` are those of the old operator, where members wait to be adopted, and ``ownerless`` are
    Services with our labels, under a name that we need, without a controller: by kind, name and uid.

    What stands in the way of a new cluster, as ``kind/name``: ``conflicts`` have a name that we need and
    another controller, ``existing_data`` are volumes with data of a cluster of this name, ``fading`` are
    objects of a deleted one that are not gone yet. ``former_volumes`` are the claims among the existing data.
    """

    cluster: ClusterRef
    status: ClusterStatus
    pods: Mapping[str, PodFacts] = field(default_factory=lambda: _NOTHING)
    volumes: Mapping[str, VolumeFacts] = field(default_factory=lambda: _NOTHING)
    services: frozenset[str] = frozenset()
    drifted: frozenset[str] = frozenset()
    former_services: tuple[ServiceFacts, ...] = ()
    client_service: ServiceFacts | None = None
    budgets: tuple[BudgetFacts, ...] | None = None
    answers: Mapping[str, Answer] = field(default_factory=lambda: _NOTHING)
    members: tuple[ListedMember, ...] | None = None
    learners_known: Mapping[str, frozenset[int]] = field(default_factory=lambda: _NOTHING)
    absent: frozenset[str] = frozenset()
    absent_volumes: frozenset[str] = frozenset()
    helpers: Mapping[str, Helper] = field(default_factory=lambda: _NOTHING)
    absent_helpers: frozenset[str] = frozenset()
    order: Order = _NO_ORDER
    namespace_ending: bool = False
    locked: frozenset[str] = frozenset()
    gauges_due: bool = True
    ages: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    leading_for: float = float("inf")
    waits: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    refusals: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    stray: frozenset[tuple[str, str, str]] = frozenset()
    conflicts: tuple[str, ...] = ()
    existing_data: tuple[str, ...] = ()
    fading: tuple[str, ...] = ()
    former_volumes: Mapping[str, VolumeFacts] = field(default_factory=lambda: _NOTHING)
    old_locks: tuple[Lock, ...] = ()
    ownerless: frozenset[tuple[str, str, str]] = frozenset()
    unseen: tuple[str, ...] = ()
