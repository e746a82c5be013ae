"""How the members' Pods are made: goes through ``spec.pod`` family by family."""

import re
from typing import Any

from app.api.base import JsonObject
from app.api.names import SUFFIX_LENGTH, domain_suffix, subdomain_fault
from app.api.paths import object_at
from app.api.rules.environment import check_environment
from app.api.rules.metadata import check_annotations, check_labels, check_node_selector
from app.api.rules.resources import check_resources
from app.api.rules.scheduling import check_scheduling
from app.api.rules.security import check_security
from app.api.rules.storage import check_retention, check_storage
from app.api.rules.workload import check_workload
from app.api.verdict import Report
from app.api.versions import DEFAULT, parse_version

_WITHOUT_EFFECT = ("busyboxImage", "DNSTimeoutInSecond")
_DOMAIN = "spec.pod.ClusterDomain"
_HOST_LENGTH = 253


def check_pod(obj: JsonObject, spec: JsonObject, report: Report) -> None:
    """Check ``spec.pod`` of an EtcdCluster."""
    pod = object_at(spec, "pod", "spec", report) or {}
    check_storage(pod, report)
    check_retention(spec.get("dataRetention"), pod, report)
    if not pod:
        return
    check_labels(pod, report)
    check_annotations(pod, report)
    check_node_selector(pod, report)
    check_scheduling(pod, report)
    check_resources(pod, report)
    check_environment(pod, parse_version(spec.get("version") or DEFAULT), report)
    check_security(pod, report)
    check_workload(pod, report)
    check_domain(obj.get("metadata"), pod.get("ClusterDomain"), report)
    for key in _WITHOUT_EFFECT:
        if pod.get(key):
            report.warn(f"spec.pod.{key}: has no effect, no init container is needed any more")


def check_domain(metadata: Any, domain: Any, report: Report) -> None:
    """Check ``spec.pod.ClusterDomain``: a domain, short enough for the members' host names to be valid."""
    if domain is None or domain == "":
        return
    if not isinstance(domain, str):
        report.wrong_type(_DOMAIN, domain, "a domain such as .cluster.local")
        return
    suffix = domain_suffix(domain)
    if subdomain_fault(suffix.removeprefix(".")):
        nearest = "." + re.sub(r"[^a-z0-9.]+", "-", suffix.lower()).strip(".-")
        usable = nearest if subdomain_fault(nearest[1:]) is None else ".cluster.local"
        report.invalid(_DOMAIN, domain, "must be a domain such as .cluster.local", nearest=usable)
        return
    named = metadata if isinstance(metadata, dict) else {}
    name, namespace = (len(str(named.get(key) or "")) for key in ("name", "namespace"))
    most = _HOST_LENGTH - 2 * name - namespace - SUFFIX_LENGTH - len("-...svc")
    if len(suffix) > most:
        message = f"must be at most {most} characters here: a host name may have {_HOST_LENGTH}"
        report.invalid(_DOMAIN, domain, message, nearest=".cluster.local")
