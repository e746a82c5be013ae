"""What a plan can ask for: plain data, carried out by `app.act`.

Each action is idempotent, and says by uid which object it means, so that one that was decided on an old look
at the world does nothing to an object that has taken the place of the one meant.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from app.plan.observed import Task


class _Seen(Protocol):
    """An object as a look found it."""

    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _Delete:
    """Deletes one object, which has to be the one that was seen."""

    name: str
    uid: str
    resource_version: str

    @classmethod
    def of(cls, seen: _Seen) -> Self:
        """Delete what was seen."""
        return cls(seen.name, seen.uid, seen.resource_version)


@dataclass(frozen=True, slots=True)
class EnsureService:
    """Apply the headless peer Service, or the one for clients."""

    name: str
    client: bool


@dataclass(frozen=True, slots=True)
class DeleteService(_Delete):
    """Delete a Service of ours under a former name, if it is still the one and the version that was seen."""


@dataclass(frozen=True, slots=True)
class EnsureBudget:
    """Apply the PodDisruptionBudget, which keeps ``min_available`` members from evictions."""

    min_available: int


@dataclass(frozen=True, slots=True)
class DeleteBudget(_Delete):
    """Delete the PodDisruptionBudget, if it is still the one and the version that was seen."""


@dataclass(frozen=True, slots=True)
class CreateVolume:
    """Create the claim of a member."""

    member: str


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create the Pod of a member.

    ``annotations`` carry what etcd reads at each start (initial cluster and its state); ``token`` is the
    initial cluster token, which never changes. One ``as_root`` finds data that root has written.
    """

    member: str
    peer_url: str
    annotations: Mapping[str, str]
    token: str
    as_root: bool = False


@dataclass(frozen=True, slots=True)
class CreateHelper:
    """Create a Pod that does one task beside a member's volume while the member itself does not run."""

    start: CreatePod
    task: Task
    token: str


@dataclass(frozen=True, slots=True)
class Annotate:
    """Merge annotations into a Pod or a PersistentVolumeClaim that still has this uid."""

    kind: str
    name: str
    uid: str
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Label:
    """Put our labels back on a Pod or a PersistentVolumeClaim that still has this uid."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Make the custom resource the controller of a Service that has none, if it still has this uid."""

    kind: ClassVar[str] = "Service"
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Label a claim that nobody is to mount until the incident is over, if it still has this uid.

    An empty ``token`` takes the label off.
    """

    kind: ClassVar[str] = "PersistentVolumeClaim"
    name: str
    uid: str
    token: str


@dataclass(frozen=True, slots=True)
class SetRetention:
    """Let a claim outlive the custom resource, or not, if it is still the one and the version seen."""

    kind: ClassVar[str] = "PersistentVolumeClaim"
    name: str
    uid: str
    resource_version: str
    retain: bool


@dataclass(frozen=True, slots=True)
class GrowVolume:
    """Ask a claim that still has this uid for more storage (a quantity)."""

    name: str
    uid: str
    storage: str


@dataclass(frozen=True, slots=True)
class DeletePod(_Delete):
    """Delete a Pod with its usual grace, if it is still the one and the version that was seen."""


@dataclass(frozen=True, slots=True)
class DeleteVolume(_Delete):
    """Delete the claim of a member that etcd does not list any more, if it still has this uid."""


@dataclass(frozen=True, slots=True)
class Via:
    """The member to ask for a change: its address, and who must answer there."""

    address: str
    cluster_id: int
    member_id: int


@dataclass(frozen=True, slots=True)
class AddMember:
    """Add a member, as a learner wherever etcd knows learners."""

    member: str
    peer_url: str
    learner: bool
    via: Via


@dataclass(frozen=True, slots=True)
class PromoteMember:
    """Make a learner a voter."""

    member: str
    id: int
    via: Via


@dataclass(frozen=True, slots=True)
class RemoveMember:
    """Remove a member."""

    member: str
    id: int
    via: Via


@dataclass(frozen=True, slots=True)
class MoveLeader:
    """Hand leadership from ``member``, which is asked, to another voter."""

    member: str
    target: int
    via: Via


@dataclass(frozen=True, slots=True)
class Disarm:
    """Put off the CORRUPT alarm of a member that is none any more."""

    member: str
    id: int
    via: Via


Deletion = DeletePod | DeleteVolume | DeleteService | DeleteBudget
MembershipAction = AddMember | PromoteMember | RemoveMember | MoveLeader | Disarm
Action = (
    EnsureService
    | EnsureBudget
    | CreateVolume
    | CreatePod
    | CreateHelper
    | Annotate
    | Label
    | TakeOver
    | Quarantine
    | SetRetention
    | GrowVolume
    | Deletion
    | MembershipAction
)
