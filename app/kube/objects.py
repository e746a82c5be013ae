"""Kubernetes objects, as far as the operator reads them.

These structs are partial on purpose: what isn't named here is skipped while decoding and takes neither
time nor memory. They are for reading; what the operator writes is built as plain dictionaries, so a field
that is missing here can't be lost by a round trip. They are frozen, since the cache hands the same
object to everybody.

``gc=False`` takes them off the cyclic collector's list. That is safe, as a tree decoded from JSON can't
contain itself, and with thousands of cached Pods it keeps collections short.
"""

from typing import Any

import msgspec

Labels = dict[str, str]


class Struct(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The base of all: fields in Python's spelling here, in Kubernetes' on the wire."""


class OwnerReference(Struct, frozen=True, gc=False):
    """Who owns an object; at most one owner is its controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class Metadata(Struct, frozen=True, gc=False):
    """What every object carries, without ``managedFields``."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Labels | None = None
    annotations: Labels | None = None
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone for a cluster-wide object: how caches and queues know it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    def label(self, name: str, default: str = "") -> str:
        """Return the label of that name."""
        return (self.labels or {}).get(name, default)

    def annotation(self, name: str, default: str = "") -> str:
        """Return the annotation of that name."""
        return (self.annotations or {}).get(name, default)


_NO_METADATA = Metadata()


class Object(Struct, frozen=True, gc=False):
    """Any object, of which only the metadata is of interest."""

    metadata: Metadata = _NO_METADATA


class CustomObject(Object, frozen=True, gc=False):
    """An object of a custom resource: spec and status as they came."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class Condition(Struct, frozen=True, gc=False):
    """One condition of a status; times are RFC 3339 in UTC."""

    type: str = ""
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None


class Container(Struct, frozen=True, gc=False):
    """A container as asked for."""

    name: str = ""
    image: str = ""


class PodSpec(Struct, frozen=True, gc=False):
    """A Pod as asked for."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()


class ContainerStateWaiting(Struct, frozen=True, gc=False):
    """Why a container doesn't run yet."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(Struct, frozen=True, gc=False):
    """Since when a container runs."""

    started_at: str | None = None


class ContainerStateTerminated(Struct, frozen=True, gc=False):
    """How a container ended."""

    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(Struct, frozen=True, gc=False):
    """One of three, or none of them where nothing is known."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


_NO_STATE = ContainerState()


class ContainerStatus(Struct, frozen=True, gc=False):
    """A container as the kubelet last told it."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = _NO_STATE
    last_state: ContainerState = _NO_STATE


class PodStatus(Struct, frozen=True, gc=False):
    """A Pod as the kubelet and the scheduler last told it."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type, if told."""
        return next((one for one in self.conditions if one.type == kind), None)


_NO_POD_SPEC = PodSpec()
_NO_POD_STATUS = PodStatus()


class Pod(Object, frozen=True, gc=False):
    """A Pod."""

    spec: PodSpec = _NO_POD_SPEC
    status: PodStatus = _NO_POD_STATUS


class PersistentVolumeClaimSpec(Struct, frozen=True, gc=False):
    """A claim as asked for; ``resources`` as it came."""

    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()
    resources: dict[str, Any] = {}


class PersistentVolumeClaimStatus(Struct, frozen=True, gc=False):
    """A claim as it is; ``capacity`` by resource name, as quantities."""

    phase: str = ""
    capacity: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()


_NO_CLAIM_SPEC = PersistentVolumeClaimSpec()
_NO_CLAIM_STATUS = PersistentVolumeClaimStatus()


class PersistentVolumeClaim(Object, frozen=True, gc=False):
    """A claim on a volume."""

    spec: PersistentVolumeClaimSpec = _NO_CLAIM_SPEC
    status: PersistentVolumeClaimStatus = _NO_CLAIM_STATUS


class Secret(Object, frozen=True, gc=False):
    """A Secret; the values of ``data`` are base64, as on the wire."""

    type: str = ""
    data: dict[str, str] | None = None


class Service(Object, frozen=True, gc=False):
    """A Service; spec as it came."""

    spec: dict[str, Any] = {}


class PodDisruptionBudget(Object, frozen=True, gc=False):
    """A PodDisruptionBudget; spec as it came."""

    spec: dict[str, Any] = {}


class Node(Object, frozen=True, gc=False):
    """A node; spec and status as they came."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class LeaseSpec(Struct, frozen=True, gc=False):
    """Who holds a Lease. All of it may be absent, or null, in a Lease that was released."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


_NO_LEASE_SPEC = LeaseSpec()


class Lease(Object, frozen=True, gc=False):
    """A Lease."""

    spec: LeaseSpec = _NO_LEASE_SPEC


class Webhook(Struct, frozen=True, gc=False):
    """One webhook of a configuration; ``client_config`` as it came."""

    name: str = ""
    client_config: dict[str, Any] = {}


class WebhookConfiguration(Object, frozen=True, gc=False):
    """A mutating or a validating webhook configuration."""

    webhooks: tuple[Webhook, ...] = ()
