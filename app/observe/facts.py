"""What Kubernetes objects say, as the facts that decisions are made from."""

from typing import Any

from app.kube.applying import contains
from app.kube.objects import ContainerStatus, PersistentVolumeClaim, Pod, Service
from app.plan.observed import PodFacts, VolumeFacts

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
        restarts=status.restart_count if status else 0,
        last_words=_last_words(status) if status else "",
        trouble=_trouble(pod, status),
        annotations=pod.metadata.annotations or {},
    )


def _last_words(status: ContainerStatus) -> str:
    ended = status.state.terminated or status.last_state.terminated
    return ended.message if ended is not None and ended.exit_code else ""


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
        annotations=claim.metadata.annotations or {},
    )


def service_is(live: Service, wanted: dict[str, Any]) -> bool:
    """Tell whether a Service of ours is as it would be written."""
    labels = contains(live.metadata.labels or {}, wanted["metadata"]["labels"])
    return labels and contains(live.spec, wanted["spec"])
