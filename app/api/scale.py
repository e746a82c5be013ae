"""Says whether a cluster may be scaled: ``kubectl scale`` and autoscalers write a Scale, no EtcdCluster."""

from typing import Any

from app.api.paths import lookup
from app.api.rules.size import check_size
from app.api.verdict import ALLOWED, Report, Verdict


def validate_scale(new: Any, old: Any = None) -> Verdict:
    """Check an ``autoscaling/v1`` Scale of an EtcdCluster; ``old`` is the one before."""
    size = lookup(new, "spec.replicas") if isinstance(new, dict) else None
    if isinstance(old, dict) and size == lookup(old, "spec.replicas"):
        return ALLOWED
    report = Report()
    check_size(size, report, path="spec.replicas")
    return report.verdict()
