"""What is written says which object, and which version of it, was meant."""

from types import SimpleNamespace
from typing import Any

import pytest

from app.act.cluster import Actor
from app.api.cluster import ClusterSpec
from app.build.common import Platform
from app.kube.errors import Conflict
from app.kube.objects import CustomObject, Metadata
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS, POD_DISRUPTION_BUDGETS, PODS, SERVICES
from app.plan.actions import Action, Annotate, DeleteBudget, DeletePod, DeleteService, DeleteVolume, Label
from app.plan.observed import ClusterRef

CLUSTER = ClusterRef(name="c", namespace="ns", uid="u", generation=1)


class Recording:
    """An API server that refuses everything, and knows what it was asked."""

    def __init__(self) -> None:
        self.deleted: list[dict[str, Any]] = []
        self.patched: list[dict[str, Any]] = []

    async def delete(self, _resource: Any, _namespace: str, _name: str, **conditions: Any) -> None:
        self.deleted.append(conditions)
        raise Conflict("another one")

    async def patch(self, _resource: Any, _namespace: str, _name: str, body: Any, **_: Any) -> None:
        self.patched.append(body)
        raise Conflict("another one")


def actor(api: Recording) -> Actor:
    resources = {
        "pods": PODS,
        "volumes": PERSISTENT_VOLUME_CLAIMS,
        "services": SERVICES,
        "budgets": POD_DISRUPTION_BUDGETS,
    }
    kept = {name: SimpleNamespace(store={}, resource=one) for name, one in resources.items()}
    caches: Any = SimpleNamespace(**kept)
    anything: Any = None
    return Actor(api, caches, anything, Platform(), anything, anything)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [DeletePod, DeleteVolume, DeleteService, DeleteBudget])
async def test_a_deletion_names_the_uid_and_the_version_and_leaves_the_usual_grace(kind: Any) -> None:
    api = Recording()

    await actor(api).act(CLUSTER, ClusterSpec(), ((kind("x", "uid-x", "7"),),))

    assert api.deleted == [{"uid": "uid-x", "resource_version": "7"}]


@pytest.mark.parametrize("action", [Annotate("Pod", "x", "uid-x", {}), Label("Pod", "x", "uid-x")])
async def test_a_mark_names_the_uid(action: Action) -> None:
    api = Recording()

    await actor(api).act(CLUSTER, ClusterSpec(), ((action,),))

    assert [body["metadata"]["uid"] for body in api.patched] == ["uid-x"]


async def test_a_status_is_written_over_the_version_that_was_seen() -> None:
    """So of two operators that both believe to lead one gets to record what it is about to do."""
    api = Recording()
    seen = CustomObject(metadata=Metadata(name="c", namespace="ns", uid="u", resource_version="41"))

    with pytest.raises(Conflict):
        await actor(api).write_status(seen, {"phase": "Running"})

    assert [body["metadata"] for body in api.patched] == [{"resourceVersion": "41"}]
