"""What a cluster's children never carry."""

from typing import Any

from app.api.cluster import ClusterSpec
from app.build.common import Platform
from app.build.pod import pod
from app.plan.actions import CreatePod
from app.plan.observed import ClusterRef


def test_P10_nothing_holds_a_namespace_up_once_the_operator_is_gone() -> None:
    """Owner references do the clean-up; a finalizer would need an operator that is there to take it off."""
    cluster = ClusterRef(name="c", namespace="ns", uid="u", generation=1)
    spec = ClusterSpec.model_validate({"size": 1, "version": "3.6.16"})
    action = CreatePod(member="c-a", peer_url="http://c-a.c.ns.svc:2380", annotations={}, token="t")
    made: dict[str, Any] = pod(cluster, spec, action, platform=Platform())

    assert "finalizers" not in made["metadata"]
    assert made["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] is True
