"""In which order a member's parts go, and what a deletion waits for, on a real API server."""

import pytest

from app.kube.errors import NotFound
from app.kube.objects import PersistentVolumeClaim
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_retention import CLAIM
from tests.integration.operator.test_scaling import resize, settled
from tests.integration.operator.watching import watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration


def listed(here: World) -> set[str]:
    """The members that etcd lists, by whoever has a quorum."""
    for process in here.model.processes.values():
        if process.running and process.joined and here.model.leader(process) is process:
            return {member.name for member in process.held.state.members.values()}
    return set()


async def test_F6_a_member_leaves_etcd_before_its_claim_goes(here: World) -> None:
    here.kubelet.on_claims = True
    too_early: list[str] = []
    await here.create("c", size=3, pod=CLAIM)
    settings = config(here.namespace, here.kubeconfig)
    async with watching(here, PERSISTENT_VOLUME_CLAIMS) as claims, operator(settings, here.dialer):
        await here.until("c", settled(3))
        members = set(claims.now())

        def one_is_left(found: dict[str, PersistentVolumeClaim]) -> bool:
            going = {name for name, claim in found.items() if claim.metadata.deletion_timestamp is not None}
            too_early.extend(listed(here) & (going | (members - found.keys())))
            return len(found.keys() - going) == 1

        await resize(here, "c", 1)
        await claims.until(one_is_left)
        status = await here.until("c", lambda status: status.size == 1)
    assert too_early == []
    assert listed(here) == set(status.members.ready)


async def test_F6_a_cluster_whose_etcd_is_dead_is_deleted_without_a_word_to_it(here: World) -> None:
    await here.create("c", size=3)
    async with operator(config(here.namespace, here.kubeconfig), here.dialer):
        await here.until("c", settled(3))
        for name in list(here.model.processes):
            here.model.stop(name)
        await here.until("c", lambda status: status.ready_members == 0)
        before = len(here.dialer.log)
        await here.delete("c")
        with pytest.raises(NotFound):
            await here.api.get(ETCD_CLUSTERS, here.namespace, "c")
    changes = {"member_remove", "member_add", "member_promote", "move_leader"}
    assert not [call for call in here.dialer.log[before:] if call[1] in changes]
    assert not (await here.children("c"))[0]
