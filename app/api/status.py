"""What an EtcdCluster's status says, and what the operator must remember between two of its lives.

The first half is for people and tools: phase, members, conditions. Field names and meanings are those of the
operator this one succeeds, and everything it ever wrote is accepted (reasons with blanks,
``lastUpdateTime``, ``conditions: null``). The second half is ``journal``: facts that must outlive the
process, because a decision that is taken twice from different facts loses data. Unknown keys of the journal
survive a write by an older operator.

Cluster ids, member ids and tokens are 64-bit numbers in etcd and hexadecimal strings here, as in etcd's logs:
JSON readers round large numbers.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from app.api.base import INT32, INT64, NULLABLE, Extra, Model, Name, Text, at_most, atomic_list, list_map


class ClusterPhase(StrEnum):
    """The coarse state of a cluster; none of them is final."""

    NONE = ""
    CREATING = "Creating"
    RUNNING = "Running"
    FAILED = "Failed"


class ConditionType(StrEnum):
    """The conditions of an EtcdCluster."""

    AVAILABLE = "Available"
    READY = "Ready"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    STALLED = "Stalled"
    SCALING = "Scaling"
    UPGRADING = "Upgrading"
    RECOVERING = "Recovering"


HexId = Annotated[str, at_most(16)]
"""A 64-bit id of etcd as lower-case hexadecimal."""

Timestamp = Annotated[str, at_most(64)]
"""RFC 3339. Without ``format: date-time``, because stored objects may hold an empty one."""


class Condition(Model):
    """One condition, as Kubernetes defines them (KEP-1623), plus the time of the last update."""

    type: Annotated[str, at_most(316)]
    """What the condition is about, for example Available."""
    status: Annotated[str, Extra({"enum": ["True", "False", "Unknown"]})]
    """True, False or Unknown."""
    observed_generation: Annotated[int, INT64] | None = None
    """The metadata.generation that this condition was derived from."""
    last_update_time: Timestamp | None = None
    """When anything of this condition changed last."""
    last_transition_time: Timestamp | None = None
    """When the status of this condition changed last."""
    reason: Annotated[str, at_most(1024)] = ""
    """One word for machines."""
    message: Text = ""
    """A sentence for people, with what would clear the condition."""


class MembersStatus(Model):
    """Member names by readiness; a member's name is its Pod's."""

    ready: Annotated[tuple[Name, ...], atomic_list(at_most=64)] = ()
    """Members that serve clients."""
    unready: Annotated[tuple[Name, ...], atomic_list(at_most=64)] = ()
    """Members that etcd lists and that do not serve clients."""


class MemberStatus(Model):
    """One member as etcd and the kubelet see it."""

    name: Name
    """The member's name, which is its Pod's."""
    id: HexId = ""
    """The member id in hexadecimal."""
    role: Annotated[str, at_most(64)] = ""
    """Leader, Follower or Learner."""
    ready: bool = False
    """Whether the member serves clients."""
    reason: Annotated[str, at_most(1024)] = ""
    """Why the member is not ready."""
    version: Annotated[str, at_most(128)] = ""
    """The etcd version that the member runs."""
    db_size: Annotated[int, INT64] | None = None
    """Size of the database file in bytes."""
    db_size_in_use: Annotated[int, INT64] | None = None
    """Bytes of the database file that hold data; the rest returns by defragmentation."""


class Remembered(Model):
    """A part of the journal: what a newer operator added to it is kept."""

    model_config = ConfigDict(extra="allow")


class Bootstrap(Remembered):
    """What a cluster is founded with; written before its first Pod, not changed once it has served."""

    members: Annotated[tuple[Name, ...], atomic_list(at_most=7)] = ()
    """Names of the founding members."""
    token: Annotated[str, at_most(253)] = ""
    """The initial cluster token."""
    cluster_id: HexId = Field(default="", alias="clusterID")
    """The cluster id that etcd computes from these members and this token."""
    abandoned: bool = False
    """Whether the founding is taken back, since another size was asked for before the cluster served."""


class LatchedMember(Remembered):
    """A member that once served, and the volume it served from."""

    id: HexId = ""
    """The member id in hexadecimal."""
    pvc_uid: Annotated[str, at_most(128)] = Field(default="", alias="pvcUID")
    """UID of the member's PersistentVolumeClaim; empty for an emptyDir. Another UID means the data is
    gone.
    """
    adopted: bool = False
    """Whether another operator made the member: its data is root's."""
    peer_url: Text = Field(default="", alias="peerURL")
    """Its peer URL, where it is not the one that the spec gives."""


class Latch(Remembered):
    """The fact that this cluster once served. What served is never founded anew."""

    cluster_id: HexId = Field(default="", alias="clusterID")
    """The cluster id in hexadecimal."""
    members: Annotated[dict[str, LatchedMember], Extra({"maxProperties": 64})] = Field(default_factory=dict)
    """Members that have served, by name."""
    roster: Annotated[tuple[Name, ...], atomic_list(at_most=64)] = ()
    """Names of all members that etcd listed last, those included that have not served yet."""
    revision: Annotated[int, INT64] = 0
    """The highest revision of the key space that was seen."""
    raft_index: Annotated[int, INT64] = 0
    """The highest raft index that was seen."""
    raft_term: Annotated[int, INT64] = 0
    """The highest raft term that was seen."""


class Claim(Remembered):
    """Which operator acts on this cluster. A live claim of another one forbids every act."""

    holder: Annotated[str, at_most(512)] = ""
    """Namespace and name of the operator's Lease."""
    identity: Annotated[str, at_most(253)] = ""
    """The process that led when the claim was made."""
    heartbeat: Timestamp = ""
    """When the claim was made. That it lives on, the renewals of the holder's Lease say."""
    duration_seconds: Annotated[int, INT32] = 0
    """For how long the Lease must not have been renewed, by the reader's own clock, for it to be void."""


class Intent(Remembered):
    """A membership change that is about to be sent, or was sent with an outcome not known yet."""

    action: Annotated[str, at_most(64)] = ""
    """Add, AddVoter, Promote, Remove or MoveLeader."""
    member: Name = ""
    """The member's name."""
    id: HexId = ""
    """The member id in hexadecimal, where it is known."""
    since: Timestamp = ""
    """When the intent was written; no deadline is counted from it."""


class Recovery(Remembered):
    """A disaster recovery under way; written before each step, never chosen anew."""

    token: Annotated[str, at_most(253)] = ""
    """The incident that the user named."""
    step: Annotated[str, at_most(64)] = ""
    """The step that was begun last."""
    survivor: Name = ""
    """The member whose data the cluster goes on with."""
    abandoned: Annotated[tuple[Name, ...], atomic_list(at_most=64)] = ()
    """Members that were the survivor and lost their data before the cluster served."""
    unreadable: Annotated[tuple[Annotated[str, at_most(128)], ...], atomic_list(at_most=8)] = ()
    """UIDs of the Pods in which etcd could not read the survivor's data."""
    former: Latch | None = None
    """What was known before the survivor forgot the others; kept until the cluster is back at its size."""
    fenced: Annotated[tuple[Name, ...], atomic_list(at_most=64)] = ()
    """Members of which the user said that they run nowhere and never will again."""
    candidates: Annotated[tuple[Name, ...], atomic_list(at_most=64)] = ()
    """Members whose data the cluster may go on with."""
    quarantined: Annotated[tuple[Name, ...], atomic_list(at_most=64)] = ()
    """PersistentVolumeClaims set aside until the cluster is back at its size."""
    consumed: Annotated[tuple[Annotated[str, at_most(253)], ...], atomic_list(at_most=64)] = ()
    """Incident tokens that were acted on; none acts twice."""


class Incident(Remembered):
    """A loss of quorum. It ends when a quorum serves again; the next one has another token."""

    token: Annotated[str, at_most(253)] = ""
    """What the incident is called while it lasts; a recovery is ordered by this name. Empty for none."""
    number: Annotated[int, INT32] = 0
    """How many incidents there have been."""


class Journal(Remembered):
    """What the operator must remember."""

    bootstrap: Bootstrap | None = None
    """What the cluster is or was founded with."""
    latch: Latch | None = None
    """Set once the cluster has served."""
    claim: Claim | None = None
    """Which operator acts on this cluster."""
    intent: Intent | None = None
    """The membership change in flight."""
    incident: Incident | None = None
    """The last loss of quorum."""
    recovery: Recovery | None = None
    """The disaster recovery under way."""
    next_index: Annotated[int, INT32] = 0
    """The number that the name of the next added member is made from; none is used twice."""
    other_budgets: Annotated[str, at_most(32768)] = ""
    """PodDisruptionBudgets of others in whose favour the operator makes none; an event has told."""
    accepted_spec: Annotated[str, at_most(262144)] = ""
    """The last valid spec as compact JSON; what runs is healed by it while the spec is invalid."""


class ClusterStatus(Model):
    """What the operator observed last."""

    model_config = ConfigDict(extra="allow")

    observed_generation: Annotated[int, INT64] | None = None
    """The metadata.generation that this status describes."""
    phase: Annotated[str, at_most(64)] = ""
    """Creating, Running or Failed. None is final."""
    reason: Text = ""
    """Why the phase is what it is."""
    control_paused: bool = False
    """Whether the operator leaves members alone because spec.paused says so."""
    size: Annotated[int, INT32] = 0
    """Number of members that etcd lists."""
    ready_members: Annotated[int, INT32] = 0
    """Number of members that serve clients."""
    service_name: Name = ""
    """The Service for clients."""
    client_port: Annotated[int, INT32] | None = None
    """The port of the Service for clients."""
    members: MembersStatus = Field(default_factory=MembersStatus)
    """Member names by readiness."""
    member_status: Annotated[tuple[MemberStatus, ...], list_map("name", at_most=64)] = ()
    """Every member in detail."""
    cluster_id: HexId = Field(default="", alias="clusterID")
    """The cluster id in hexadecimal."""
    leader: Name = ""
    """Name of the member that leads."""
    current_version: Annotated[str, at_most(128)] = ""
    """The etcd version that all members have reached."""
    target_version: Annotated[str, at_most(128)] = ""
    """The etcd version that members are being brought to; empty when none is."""
    db_size: Annotated[int, INT64] | None = None
    """Size of the largest database file among the members, in bytes."""
    selector: Annotated[str, at_most(1024)] = ""
    """Label selector of the member Pods, for the scale subresource."""
    conditions: Annotated[tuple[Condition, ...], list_map("type", at_most=64), NULLABLE] = ()
    """Conditions by type."""
    journal: Journal = Field(default_factory=Journal)
    """What the operator must remember. Not for editing."""
