"""The Pod of a member.

It is created once and never applied again, since other admission controllers edit Pods. What may change
while it lives reaches etcd as environment from the Pod's annotations (downward API), which the kubelet
resolves anew at each start of the container; what never changes is in the arguments.

It satisfies the restricted Pod Security profile, carries no service-account token, and needs neither a shell
nor an init container: its name is published before it is ready, and etcd retries.
"""

from collections.abc import Mapping
from typing import Any

from app.api import names, versions
from app.api.base import JsonObject
from app.api.cluster import ClusterSpec, PodPolicy
from app.api.defaults import DEFAULT_REPOSITORY
from app.build.common import MEMBER_LABEL, Platform, owner, selector
from app.build.probes import probes
from app.etcd import flags
from app.plan.actions import CreatePod
from app.plan.observed import ClusterRef
from app.plan.revision import REVISION, revision

PREFIX = "etcd.database.coreos.com/"
VERSION = "etcd.version"
DATA_VOLUME = "etcd-data"
DATA_ROOT = "/var/etcd"
DATA_DIR = "/var/etcd/data"
GRACE_SECONDS = 30

_SPREAD = {"kubernetes.io/hostname": 100, "topology.kubernetes.io/zone": 50}
"""What members should not share, and how much it matters (1 to 100)."""


def annotation_of(variable: str) -> str:
    """The annotation that feeds an environment variable of etcd."""
    return PREFIX + variable.removeprefix("ETCD_").lower().replace("_", "-")


def pod(cluster: ClusterRef, spec: ClusterSpec, action: CreatePod, *, platform: Platform) -> JsonObject:
    """Build the Pod that a `CreatePod` asks for."""
    policy = spec.pod
    version = versions.bare(spec.version or versions.DEFAULT)
    own = frozenset(str(variable.get("name")) for variable in policy.etcd_env)
    fed = flags.environment(version, cluster={}, state="", token=action.token, own=own)
    annotations = {
        **policy.annotations,
        VERSION: version,
        REVISION: revision(spec),
        **{annotation_of(name): value for name, value in fed.items()},
        **action.annotations,
    }
    body: JsonObject = {
        "hostname": action.member,
        "subdomain": names.peer_service(cluster.name),
        "restartPolicy": "Always",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": policy.termination_grace_period_seconds or GRACE_SECONDS,
        "securityContext": {
            **_security(platform, as_root=action.as_root),
            **(policy.security_context or {}),
        },
        "containers": [_container(cluster, spec, action, version=version, own=own, fed=fed)],
        "volumes": [_volume(policy, action.member)],
        **_scheduling(cluster, policy),
        **_references(policy),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": action.member,
            "namespace": cluster.namespace,
            "labels": {**policy.labels, **selector(cluster.name), MEMBER_LABEL: action.member},
            "annotations": annotations,
            "ownerReferences": [owner(cluster)],
        },
        "spec": body,
    }


def _container(
    cluster: ClusterRef,
    spec: ClusterSpec,
    action: CreatePod,
    *,
    version: str,
    own: frozenset[str],
    fed: Mapping[str, str],
) -> JsonObject:
    arguments = flags.arguments(
        version,
        name=action.member,
        peer_url=action.peer_url,
        client_url=names.client_url(
            action.member,
            cluster=cluster.name,
            namespace=cluster.namespace,
            domain=spec.pod.cluster_domain,
            tls=spec.client_tls,
        ),
        data_dir=DATA_DIR,
        own=own,
    )
    environment = [
        {
            "name": name,
            "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{annotation_of(name)}']"}},
        }
        for name in fed
    ]
    return {
        "name": "etcd",
        "image": spec.image or versions.image(spec.repository or DEFAULT_REPOSITORY, version),
        "command": ["/usr/local/bin/etcd", *arguments],
        "env": [*environment, *spec.pod.etcd_env],
        "ports": [
            {"name": "server", "containerPort": flags.PEER_PORT, "protocol": "TCP"},
            {"name": "client", "containerPort": flags.CLIENT_PORT, "protocol": "TCP"},
            {"name": "metrics", "containerPort": flags.METRICS_PORT, "protocol": "TCP"},
        ],
        # The end of the log is kept in the Pod's status: it tells a data fault from any other reason to end.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": DATA_VOLUME, "mountPath": DATA_ROOT}],
        "resources": spec.pod.resources,
        "securityContext": _container_security(spec.pod),
        **({"imagePullPolicy": spec.pod.image_pull_policy} if spec.pod.image_pull_policy else {}),
        **probes(version),
    }


def _volume(policy: PodPolicy, member: str) -> JsonObject:
    if policy.persistent_volume_claim_spec is None:
        return {"name": DATA_VOLUME, "emptyDir": {"medium": "Memory"} if policy.tmpfs else {}}
    return {"name": DATA_VOLUME, "persistentVolumeClaim": {"claimName": member}}


def _security(platform: Platform, *, as_root: bool) -> JsonObject:
    if as_root:  # the data is root's, and not every kind of volume lets the kubelet give it to another group
        return {"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}}
    context: JsonObject = {
        "runAsNonRoot": True,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if platform.run_as_user is not None:
        user = platform.run_as_user
        context |= {"runAsUser": user, "runAsGroup": user, "fsGroup": user}
    return context


def _container_security(policy: PodPolicy) -> JsonObject:
    given = policy.container_security_context or {}
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        **given,
        "capabilities": {"drop": ["ALL"], **(given.get("capabilities") or {})},
    }


def _references(policy: PodPolicy) -> JsonObject:
    """The objects that the Pod names."""
    given: JsonObject = {
        "priorityClassName": policy.priority_class_name,
        "runtimeClassName": policy.runtime_class_name,
        "schedulerName": policy.scheduler_name,
        "serviceAccountName": policy.service_account_name,
        "imagePullSecrets": [{"name": secret.name} for secret in policy.image_pull_secrets],
    }
    return {key: value for key, value in given.items() if value}


def _scheduling(cluster: ClusterRef, policy: PodPolicy) -> JsonObject:
    """Where the Pod may run; with no word of the user's, members are spread softly over hosts and zones.

    A constraint without a selector would count no Pod and so do nothing: it is about the members then.
    """
    spread: dict[str, Any] = {}
    if policy.affinity is not None:
        spread["affinity"] = policy.affinity
    elif policy.anti_affinity:
        term = _apart(cluster, "kubernetes.io/hostname")
        spread["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif policy.topology_spread_constraints is None:
        # Not by topologySpreadConstraints: with one for zones, the scheduler passes over every node without a
        # zone, for hosts too, and all members may end up on one (seen with Kubernetes 1.34).
        terms = [
            {"weight": weight, "podAffinityTerm": _apart(cluster, key)} for key, weight in _SPREAD.items()
        ]
        spread["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    if policy.topology_spread_constraints:
        spread["topologySpreadConstraints"] = [
            {**one, "labelSelector": one.get("labelSelector") or {"matchLabels": selector(cluster.name)}}
            for one in policy.topology_spread_constraints
        ]
    if policy.node_selector:
        spread["nodeSelector"] = policy.node_selector
    if policy.tolerations:
        spread["tolerations"] = list(policy.tolerations)
    return spread


def _apart(cluster: ClusterRef, topology_key: str) -> JsonObject:
    return {"labelSelector": {"matchLabels": selector(cluster.name)}, "topologyKey": topology_key}
