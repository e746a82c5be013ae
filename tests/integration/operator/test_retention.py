"""Claims that outlive their cluster, on a real API server."""

import pytest

from app.api.base import GROUP
from app.api.status import ClusterStatus
from app.etcd.fake import calls
from app.kube.objects import PersistentVolumeClaim
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS, SERVICES
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import settled
from tests.integration.operator.watching import watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration

CLAIM = {"persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}}}
Claims = dict[str, PersistentVolumeClaim]


def retained(found: Claims) -> bool:
    return all(claim.metadata.controller is None for claim in found.values())


def owned(found: Claims) -> bool:
    return all(claim.metadata.controller is not None for claim in found.values())


def existing(status: ClusterStatus) -> bool:
    return any(one.type == "Available" and one.reason == "ExistingDataFound" for one in status.conditions)


async def test_F7_G4_retained_claims_stay_and_a_cluster_made_anew_goes_on_with_them_by_order(
    here: World,
) -> None:
    async def retention(value: str) -> None:
        await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", {"spec": {"dataRetention": value}})

    settings = config(here.namespace, here.kubeconfig)
    here.kubelet.on_claims = True
    await here.create("c", size=1, pod=CLAIM, dataRetention="Retain")
    async with watching(here, PERSISTENT_VOLUME_CLAIMS) as claims:
        async with operator(settings, here.dialer):
            await here.until("c", settled(1))
            await claims.until(lambda found: len(found) == 1 and retained(found))
            await retention("Delete")
            await claims.until(owned)
            await retention("Retain")
            await claims.until(retained)
            status = await here.until("c", settled(1))
        calls.write(here.model, here.model.processes[status.leader], b"k", b"kept")
        await here.delete("c")
        for service in (await here.children("c"))[1]:
            await here.api.delete(SERVICES, here.namespace, service.metadata.name)
        await here.create("c", size=1, pod=CLAIM)
        async with operator(settings, here.dialer):
            await here.until("c", existing)
            (claim,) = claims.now().values()
            assert claim.metadata.deletion_timestamp is None

            order = {"metadata": {"annotations": {f"{GROUP}/adopt-data": status.cluster_id}}}
            await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", order)
            again = await here.until("c", settled(1))
        assert (again.cluster_id, again.leader) == (status.cluster_id, status.leader)
        assert here.model.processes[again.leader].held.state.keys[b"k"][0] == b"kept"
        (claim,) = claims.now().values()
        assert claim.metadata.controller is not None
