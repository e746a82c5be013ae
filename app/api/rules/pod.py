"""How the members' Pods are made: goes through ``spec.pod`` family by family."""

from app.api.base import JsonObject
from app.api.paths import object_at
from app.api.rules.metadata import check_annotations, check_labels, check_node_selector
from app.api.rules.storage import check_storage
from app.api.verdict import Report

_WITHOUT_EFFECT = ("busyboxImage", "DNSTimeoutInSecond")


def check_pod(spec: JsonObject, report: Report) -> None:
    """Check ``spec.pod`` of an EtcdCluster."""
    pod = object_at(spec, "pod", "spec", report) or {}
    check_labels(pod, report)
    check_annotations(pod, report)
    check_node_selector(pod, report)
    check_storage(pod, report)
    for key in _WITHOUT_EFFECT:
        if pod.get(key):
            report.warn(f"spec.pod.{key}: has no effect, no init container is needed any more")
