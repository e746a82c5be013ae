"""Two operators that take the same cluster: one acts, the other says so, and takes over when it is gone."""

import pytest

from app.api.status import ClusterStatus
from app.kube.objects import Object
from app.kube.resources import EVENTS, Resource
from app.kube.transport import Request, Stage
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import resize, settled
from tests.integration.operator.watching import watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration

SHORT = ("--lease-duration=3s", "--renew-deadline=2s", "--retry-period=500ms")
"""For the operator that is to be gone, so that the other needs only four times this to see it."""
OTHER = "--lease-name=another"


class Told(Object, frozen=True, gc=False):
    """An event with what it says."""

    reason: str = ""
    note: str = ""


TOLD = Resource(EVENTS.group, EVENTS.version, EVENTS.plural, EVENTS.kind, Told)


class Writes:
    """Notes what is written about clusters; Leases and events are each operator's own."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __call__(self, stage: Stage, request: Request) -> None:
        own = any(kind in request.path for kind in ("/leases", "/events"))
        if stage == "before" and request.method != "GET" and not own:
            self.seen.append(request.doing)


def left_alone(found: dict[str, Told]) -> bool:
    return any(one.reason == "ClaimedByAnother" for one in found.values())


def holder(status: ClusterStatus) -> str:
    return status.journal.claim.holder if status.journal.claim else ""


async def test_of_two_operators_one_acts_until_it_is_gone_and_the_other_says_so(here: World) -> None:
    await here.create("c", size=1)
    writes = Writes()
    first = config(here.namespace, here.kubeconfig, *SHORT)
    second = config(here.namespace, here.kubeconfig, OTHER)
    async with operator(first, here.dialer):
        assert (
            holder(await here.until("c", settled(1))) == f"{here.namespace}/etcd-operator.database.coreos.com"
        )

        async with operator(second, here.dialer, writes), watching(here, TOLD) as events:
            await events.until(left_alone)
            # Both see the change, and one of them carries it out.
            off = {"spec": {"podDisruptionBudget": False}}
            await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", off)
            status = await here.until("c", lambda seen: (seen.observed_generation or 0) > 1)
        assert holder(status) == f"{here.namespace}/etcd-operator.database.coreos.com"
        assert writes.seen == []

    async with operator(second, here.dialer):
        await here.until("c", lambda seen: holder(seen) == f"{here.namespace}/another")
        await resize(here, "c", 2)
        await here.until("c", settled(2))


async def test_an_operator_gives_up_what_the_annotation_hands_to_another(here: World) -> None:
    await here.create("c", size=1)
    async with operator(config(here.namespace, here.kubeconfig), here.dialer):
        await here.until("c", settled(1))
        scope = {"metadata": {"annotations": {"etcd.database.coreos.com/scope": "clusterwide"}}}
        await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", scope)
        await here.until("c", lambda seen: not holder(seen))
    wide = config(here.namespace, here.kubeconfig, OTHER, "--cluster-wide")
    async with operator(wide, here.dialer):
        await here.until("c", lambda seen: holder(seen) == f"{here.namespace}/another")
