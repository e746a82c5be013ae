"""What the archived operator counted, fed by clusters that come, fail, change and go."""

from collections import Counter

import pytest

from app.api.conditions import is_true
from app.api.status import ClusterStatus
from app.kube.errors import Unreachable
from app.kube.transport import Request, Stage
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, running
from tests.integration.operator.world import World
from tests.unit.kube.fakes import until

pytestmark = pytest.mark.integration

PREFIX = "etcd_operator"


class Stumbling:
    """Lets the first write of a status fail."""

    def __init__(self) -> None:
        self.stumbled = False

    async def __call__(self, stage: Stage, request: Request) -> None:
        if stage == "before" and request.path.endswith("/status") and not self.stumbled:
            self.stumbled = True
            raise Unreachable("a test cut the line")


def _is_ready(status: ClusterStatus) -> bool:
    return is_true(status.conditions, "Ready")


async def test_clusters_and_reconciles_are_counted_as_the_archived_operator_did(here: World) -> None:
    await here.create("old", size=1)
    async with running(config(here.namespace, here.kubeconfig), here.dialer, Stumbling()) as (made, _):
        value = made._metrics.registry.get_sample_value
        await here.until("old", _is_ready)
        await here.create("new", size=1)
        await here.until("new", _is_ready)
        assert value(f"{PREFIX}_controller_clusters") == 2
        assert value(f"{PREFIX}_controller_clusters_created") == 2
        assert value(f"{PREFIX}_controller_clusters_modified") == 0
        assert value(f"{PREFIX}_cluster_reconcile_failed", {"Reason": "Unreachable"}) == 1
        reconciles = value(f"{PREFIX}_cluster_reconcile_duration_count")
        assert reconciles is not None
        assert reconciles >= 2
        await here.api.patch(ETCD_CLUSTERS, here.namespace, "new", {"spec": {"paused": True}})
        await here.until("new", lambda status: status.control_paused)
        assert value(f"{PREFIX}_controller_clusters_modified") == 1
        known = made._caches.clusters.store.get(f"{here.namespace}/new")
        assert known is not None
        await here.api.delete(ETCD_CLUSTERS, here.namespace, "new")
        await made._caches.clusters.saw_gone(known.metadata.key, known.metadata.uid)
        assert value(f"{PREFIX}_controller_clusters_deleted") == 1
        assert value(f"{PREFIX}_controller_clusters") == 1


class Writing:
    """Counts the writes of objects by verb and kind, those of a status not counted."""

    def __init__(self) -> None:
        self.writes: Counter[str] = Counter()

    async def __call__(self, stage: Stage, request: Request) -> None:
        parts = request.path.partition("/namespaces/")[2].split("/")
        if stage == "before" and request.method != "GET" and len(parts) < 4:
            self.writes[f"{request.method} {parts[1]}"] += 1


async def test_each_object_of_a_new_cluster_is_written_once(here: World) -> None:
    writing = Writing()
    names = [f"c{number}" for number in range(10)]
    async with running(config(here.namespace, here.kubeconfig), here.dialer, writing) as (made, _):
        for name in names:
            await here.create(name)
        settled = made._controller._hands.pulse._settled
        await until(lambda: len(settled) == len(names))
    wanted = {
        "POST pods": 3 * len(names),
        "PATCH services": 2 * len(names),
        "PATCH poddisruptionbudgets": len(names),
    }
    assert {what: writing.writes[what] for what in wanted} == wanted
