"""The EtcdCluster: what a user asks for.

Every field of the operator this one succeeds is here under its old spelling, so that its manifests apply
unchanged. What is absent stays ``None``, since absent does not always mean the default: in a running cluster
an absent ``size`` or ``version`` means what its status says (``app.api.defaults`` has the rules). Embedded
Kubernetes types are opaque JSON here and full schemas in the CRD: they are handed on to the Pod, and another
version of Kubernetes may have added fields to them.
"""

from typing import Annotated

from pydantic import Field

from app.api import names
from app.api.base import (
    INT32,
    INT64,
    Extra,
    JsonObject,
    KubernetesType,
    Model,
    Name,
    ObjectMeta,
    at_most,
    atomic_list,
    list_map,
)
from app.api.status import ClusterStatus

_CORE = "io.k8s.api.core.v1"

DELETE = "Delete"
RETAIN = "Retain"

FORCE_NEW_CLUSTER = "ForceNewCluster"
REPLACE_AFTER_SECONDS = 300
"""How long a voter may be unhealthy, with its peers healthy, before it is replaced."""

StringMap = Annotated[
    dict[str, str],
    Extra({"additionalProperties": {"type": "string", "maxLength": 262144}, "maxProperties": 256}),
]


class StaticMemberTLS(Model):
    """Secrets with the members' certificates."""

    peer_secret: Name | None = None
    """Secret with peer.crt, peer.key and peer-ca.crt (or of type kubernetes.io/tls): members among each
    other.
    """
    server_secret: Name | None = None
    """Secret with server.crt, server.key and server-ca.crt (or of type kubernetes.io/tls): what clients
    see.
    """


class StaticTLS(Model):
    """Certificates that somebody else issues into Secrets."""

    member: StaticMemberTLS = Field(default_factory=StaticMemberTLS)
    """Secrets with the members' certificates."""
    operator_secret: Name | None = None
    """Secret with etcd-client.crt, etcd-client.key and etcd-client-ca.crt: the operator as a client."""


class TLSPolicy(Model):
    """Where certificates come from; exactly one source."""

    static: StaticTLS | None = None
    """Certificates that somebody else issues into Secrets."""

    @property
    def peer(self) -> bool:
        """Whether members talk to each other over TLS."""
        return bool(self.static and self.static.member.peer_secret)

    @property
    def client(self) -> bool:
        """Whether clients talk to members over TLS."""
        return bool(self.static and self.static.operator_secret)


class LocalObjectReference(Model):
    """An object of the same namespace."""

    name: Name
    """The object's name."""


class PodPolicy(Model):
    """How the members' Pods are made."""

    labels: StringMap = Field(default_factory=dict)
    """Labels for the Pods. "app" and "etcd_*" are the operator's."""
    annotations: StringMap = Field(default_factory=dict)
    """Annotations for the Pods. "etcd.version" is the operator's."""
    node_selector: StringMap = Field(default_factory=dict)
    """Labels that a node must have."""
    affinity: Annotated[JsonObject, KubernetesType(f"{_CORE}.Affinity")] | None = None
    """Scheduling constraints."""
    anti_affinity: bool = False
    """Deprecated, use affinity: never two members on one node. Has no effect beside affinity."""
    resources: Annotated[JsonObject, KubernetesType(f"{_CORE}.ResourceRequirements")] = Field(
        default_factory=dict
    )
    """Compute resources of the etcd container."""
    tolerations: Annotated[
        tuple[Annotated[JsonObject, KubernetesType(f"{_CORE}.Toleration")], ...], atomic_list(at_most=64)
    ] = ()
    """Taints that the Pods tolerate."""
    etcd_env: Annotated[
        tuple[Annotated[JsonObject, KubernetesType(f"{_CORE}.EnvVar")], ...], list_map("name", at_most=128)
    ] = ()
    """Environment of the etcd container, for settings of etcd. What the operator sets itself is refused."""
    persistent_volume_claim_spec: (
        Annotated[JsonObject, KubernetesType(f"{_CORE}.PersistentVolumeClaimSpec")] | None
    ) = None
    """One PersistentVolumeClaim per member. Without it data lives in an emptyDir and is lost with the Pod."""
    security_context: Annotated[JsonObject, KubernetesType(f"{_CORE}.PodSecurityContext")] | None = None
    """Security attributes of the Pods, merged per field over the operator's own."""
    container_security_context: Annotated[JsonObject, KubernetesType(f"{_CORE}.SecurityContext")] | None = (
        None
    )
    """Security attributes of the etcd container, merged per field over the operator's own."""
    topology_spread_constraints: (
        Annotated[
            tuple[Annotated[JsonObject, KubernetesType(f"{_CORE}.TopologySpreadConstraint")], ...],
            list_map("topologyKey", "whenUnsatisfiable", at_most=64),
        ]
        | None
    ) = None
    """How members are spread. Without a labelSelector the members themselves are counted. An empty list
    spreads nothing.
    """
    priority_class_name: Name | None = None
    """PriorityClass of the Pods."""
    runtime_class_name: Name | None = None
    """RuntimeClass of the Pods."""
    scheduler_name: Name | None = None
    """The scheduler that places the Pods."""
    service_account_name: Name | None = None
    """ServiceAccount of the Pods. They carry no token of it."""
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], list_map("name", at_most=64)] = ()
    """Secrets with the credentials of the image's registry."""
    image_pull_policy: Annotated[str, at_most(64)] | None = None
    """When the image is pulled: Always, IfNotPresent or Never."""
    termination_grace_period_seconds: Annotated[int, INT64] | None = None
    """How long etcd may take to stop before it is killed. Without it 30 s."""
    tmpfs: bool = False
    """Whether data lives in memory instead of on the node's disk. It is lost with the Pod, and when the node
    restarts, and counts against the memory limit.
    """
    cluster_domain: Annotated[str, at_most(253)] | None = Field(default=None, alias="ClusterDomain")
    """Domain appended to member host names, for example ".cluster.local". Cannot change later."""
    busybox_image: Annotated[str, at_most(1024)] | None = None
    """Has no effect: no init container is needed any more."""
    dns_timeout_in_second: Annotated[int, INT64] | None = Field(default=None, alias="DNSTimeoutInSecond")
    """Has no effect: no init container waits for DNS any more."""


class ServicePolicy(Model):
    """What the Service for clients is like."""

    name: Name | None = None
    """Its name, <cluster>-client unless given."""
    type: Annotated[str, at_most(64)] | None = None
    """ClusterIP, NodePort or LoadBalancer. Without it ClusterIP."""
    annotations: StringMap = Field(default_factory=dict)
    """Annotations for it, for a load balancer for example."""
    labels: StringMap = Field(default_factory=dict)
    """Labels for it. "app" and "etcd_*" are the operator's."""
    selector: StringMap = Field(default_factory=dict)
    """Labels that members must have, besides the operator's, to be sent clients."""


class RecoveryPolicy(Model):
    """What the operator does by itself about members that do not come back."""

    member_replace_after_seconds: Annotated[int, INT32] | None = None
    """How long a member may be unhealthy, with its peers healthy, before it is replaced; and how long a
    quorum has to be lost before quorumLoss acts. Without it 300.
    """
    quorum_loss: Annotated[str, at_most(64)] | None = None
    """What follows when a quorum of members has lost its data for good. Manual: nothing until a person orders
    it. ForceNewCluster: the cluster goes on with the data of one member, and writes that it lacks are lost;
    only with proof that no quorum can come back. Without it Manual.
    """


class ClusterSpec(Model):
    """The etcd cluster that the user asks for."""

    size: Annotated[int, INT32] | None = None
    """Number of members, from 1 to 7. Odd sizes: an even one survives no more failures than the odd one
    below.
    """
    repository: Annotated[str, at_most(1024)] | None = None
    """Repository of the etcd image; the image is <repository>:v<version>."""
    image: Annotated[str, at_most(1024)] | None = None
    """The etcd image in full, with tag or digest. It wins over repository; version says what it contains."""
    version: Annotated[str, at_most(128)] | None = None
    """Version of etcd, for example 3.6.16. A leading "v" means the same."""
    paused: bool = False
    """Whether the operator leaves the members alone. Status stays up to date."""
    pod: PodPolicy = Field(default_factory=PodPolicy)
    """How the members' Pods are made."""
    tls: TLSPolicy | None = Field(default=None, alias="TLS")
    """TLS between members and for clients."""
    service: ServicePolicy = Field(default_factory=ServicePolicy)
    """What the Service for clients is like."""
    data_retention: Annotated[str, at_most(64)] | None = None
    """What becomes of the claims when the EtcdCluster is deleted: Delete or Retain. Without it Delete."""
    pod_disruption_budget: bool = True
    """Whether the operator keeps a PodDisruptionBudget, so that evictions leave a quorum."""

    recovery: RecoveryPolicy = Field(default_factory=RecoveryPolicy)
    """What the operator does by itself about members that do not come back."""

    def client_service(self, cluster: str) -> str:
        """The name of the Service for clients of a cluster of this name."""
        return self.service.name or names.client_service(cluster)

    @property
    def retains(self) -> bool:
        """Whether claims outlive the custom resource."""
        return self.data_retention == RETAIN

    @property
    def storage(self) -> str:
        """How much storage each member's claim asks for, as a quantity; empty without claims."""
        claim = self.pod.persistent_volume_claim_spec or {}
        requests = (claim.get("resources") or {}).get("requests") or {}
        return str(requests.get("storage", ""))

    @property
    def replace_after(self) -> float:
        """How many seconds a member, or a quorum, may be down before that counts as for good."""
        given = self.recovery.member_replace_after_seconds
        return float(REPLACE_AFTER_SECONDS if given is None else given)

    @property
    def recovers_alone(self) -> bool:
        """Whether a quorum that can't come back is given up without a person's order."""
        return self.recovery.quorum_loss == FORCE_NEW_CLUSTER

    @property
    def client_tls(self) -> bool:
        """Whether clients talk to members over TLS."""
        return self.tls is not None and self.tls.client

    @property
    def peer_tls(self) -> bool:
        """Whether members talk to each other over TLS."""
        return self.tls is not None and self.tls.peer


class EtcdCluster(Model):
    """An etcd cluster."""

    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    """The part of the metadata that decisions look at."""
    spec: ClusterSpec = Field(default_factory=ClusterSpec)
    """The etcd cluster that the user asks for."""
    status: ClusterStatus = Field(default_factory=ClusterStatus)
    """What the operator observed last."""
