"""What Kubernetes objects say, as the facts that decisions are made from."""

from collections.abc import Iterable
from typing import Any

from app.build.common import APPLIED_ANNOTATION, MEMBER_LABEL, QUARANTINE_LABEL, TASK_LABEL, TOKEN_LABEL
from app.build.pdb import pdb
from app.kube.applying import contains, digest
from app.kube.objects import ContainerStatus, PersistentVolumeClaim, Pod, PodDisruptionBudget, Service
from app.kube.selectors import selects
from app.observe.caches import owner_of
from app.plan.observed import BudgetFacts, ClusterRef, Helper, PodFacts, VolumeFacts

CONTAINER = "etcd"


def pod_facts(pod: Pod) -> PodFacts:
    """Read a member's Pod."""
    status = next((one for one in pod.status.container_statuses if one.name == CONTAINER), None)
    return PodFacts(
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        resource_version=pod.metadata.resource_version,
        ip=pod.status.pod_ip,
        node=pod.spec.node_name,
        phase=pod.status.phase,
        terminating=pod.metadata.deletion_timestamp is not None,
        running=status is not None and status.state.running is not None,
        ready=status is not None and status.ready and _is_true(pod, "Ready"),
        started=status is not None and _has_run(status),
        restarts=status.restart_count if status else 0,
        last_words=_last_words(status) if status else "",
        out_of_memory=status is not None and _ran_out_of_memory(status),
        trouble=_trouble(pod, status),
        annotations=pod.metadata.annotations or {},
    )


def _last_words(status: ContainerStatus) -> str:
    ended = status.state.terminated or status.last_state.terminated
    return ended.message if ended is not None and ended.exit_code else ""


def _ran_out_of_memory(status: ContainerStatus) -> bool:
    ended = status.state.terminated or status.last_state.terminated
    return ended is not None and ended.reason == "OOMKilled"


def _has_run(status: ContainerStatus) -> bool:
    return any((status.state.running, status.state.terminated, status.last_state.terminated))


def helper_of(pod: Pod) -> Helper | None:
    """Read the Pod of a recovery; None for any other Pod."""
    labels = pod.metadata.label
    if not labels(TASK_LABEL):
        return None
    ended = next(
        (one.state.terminated for one in pod.status.container_statuses if one.name == CONTAINER), None
    )
    return Helper(
        pod=pod_facts(pod),
        member=labels(MEMBER_LABEL),
        task=labels(TASK_LABEL),
        token=labels(TOKEN_LABEL),
        said=ended.message if ended is not None else "",
    )


def _is_true(pod: Pod, kind: str) -> bool:
    condition = pod.status.condition(kind)
    return condition is not None and condition.status == "True"


def _trouble(pod: Pod, status: ContainerStatus | None) -> tuple[str, str] | None:
    """Say why a Pod can't run, in the words of the scheduler or the kubelet."""
    scheduled = pod.status.condition("PodScheduled")
    if scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable":
        return "MemberUnschedulable", scheduled.message
    if pod.status.phase == "Failed":
        return pod.status.reason or "MemberFailed", pod.status.message or "the Pod failed"
    return _container_trouble(status) if status is not None else None


def _container_trouble(status: ContainerStatus) -> tuple[str, str] | None:
    waiting = status.state.waiting
    if waiting is not None and waiting.reason in {"ErrImagePull", "ImagePullBackOff", "InvalidImageName"}:
        return "ImagePullFailed", waiting.message or waiting.reason
    if waiting is not None and waiting.reason in {"CreateContainerConfigError", "CreateContainerError"}:
        return waiting.reason, waiting.message
    ended = status.state.terminated or status.last_state.terminated
    if ended is not None and status.state.running is None:
        reason = ended.reason or "Error"
        words = f"etcd ended with exit code {ended.exit_code} ({reason}), restarts: {status.restart_count}"
        return "MemberCrashed", words
    return None


def volume_facts(claim: PersistentVolumeClaim) -> VolumeFacts:
    """Read a member's claim."""
    return VolumeFacts(
        name=claim.metadata.name,
        uid=claim.metadata.uid,
        resource_version=claim.metadata.resource_version,
        terminating=claim.metadata.deletion_timestamp is not None,
        retained=claim.metadata.controller is None,
        quarantined=bool(claim.metadata.label(QUARANTINE_LABEL)),
        requested=str((claim.spec.resources.get("requests") or {}).get("storage", "")),
        capacity=claim.status.capacity.get("storage", ""),
        annotations=claim.metadata.annotations or {},
    )


def service_is(live: Service, wanted: dict[str, Any]) -> bool:
    """Tell whether a Service of ours is as it would be written."""
    meta, meant = live.metadata, wanted["metadata"]
    return (
        contains(meta.labels or {}, meant["labels"])
        and contains(meta.annotations or {}, meant.get("annotations", {}))
        and contains(live.spec, wanted["spec"])
        # What was taken back is no longer in what is wanted, but still in what was applied.
        and meta.annotation(APPLIED_ANNOTATION) == digest(wanted)
    )


def budget_facts(live: PodDisruptionBudget, cluster: ClusterRef, members: Iterable[Pod]) -> BudgetFacts:
    """Read a PodDisruptionBudget of the cluster's namespace; ``members`` are the Pods it may select."""
    meta = live.metadata
    controller = meta.controller
    ours = controller is not None and controller.uid == cluster.uid
    given = live.spec.get("minAvailable")
    floor = given if isinstance(given, int) else None
    wanted = pdb(cluster, min_available=floor or 0)
    labels = contains(meta.labels or {}, wanted["metadata"]["labels"])
    return BudgetFacts(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        ours=ours,
        selects=any(selects(live.spec.get("selector"), pod.metadata.labels or {}) for pod in members),
        min_available=floor,
        drifted=ours and not (labels and contains(live.spec, wanted["spec"])),
        terminating=meta.deletion_timestamp is not None or (not ours and bool(owner_of(live))),
    )
