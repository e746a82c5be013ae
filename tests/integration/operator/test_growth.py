"""Volumes that are to be larger, on a real API server, which says which classes let them grow."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.api.status import ClusterStatus
from app.kube.objects import Object, PersistentVolumeClaim
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS, Resource
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.operator.running import config, operator
from tests.integration.operator.test_scaling import settled
from tests.integration.operator.watching import Watched, watching
from tests.integration.operator.world import World

pytestmark = pytest.mark.integration

CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", Object, namespaced=False)
Claims = dict[str, PersistentVolumeClaim]


@pytest.fixture
async def classes(here: World) -> AsyncIterator[dict[bool, str]]:
    """Two StorageClasses: one that lets volumes grow, one that does not."""
    made = {growing: f"{here.namespace}-{'grows' if growing else 'fixed'}" for growing in (True, False)}
    for growing, name in made.items():
        body = {
            "metadata": {"name": name},
            "provisioner": "example.com/none",
            "allowVolumeExpansion": growing,
        }
        await here.api.create(CLASSES, body)
    yield made
    for name in made.values():
        await here.api.delete(CLASSES, None, name)


def asking(storage: str) -> dict[str, Any]:
    return {"pod": {"persistentVolumeClaimSpec": {"resources": {"requests": {"storage": storage}}}}}


def claim(storage: str, storage_class: str) -> dict[str, Any]:
    spec = asking(storage)
    spec["pod"]["persistentVolumeClaimSpec"]["storageClassName"] = storage_class
    return spec


async def provision(here: World, claims: Watched[PersistentVolumeClaim], storage: str) -> None:
    """What a provisioner does for every claim: bind it, or resize its volume."""
    for name in claims.now():
        status = {"phase": "Bound", "capacity": {"storage": storage}}
        await here.api.patch(
            PERSISTENT_VOLUME_CLAIMS, here.namespace, name, {"status": status}, subresource="status"
        )


def asked(storage: str) -> Any:
    def all_ask(found: Claims) -> bool:
        return len(found) == 3 and all(
            one.spec.resources["requests"]["storage"] == storage for one in found.values()
        )

    return all_ask


def because(kind: str, reason: str) -> Any:
    def told(status: ClusterStatus) -> bool:
        return any(one.type == kind and one.reason == reason for one in status.conditions)

    return told


async def test_F2_claims_grow_with_the_spec_and_ready_waits_for_the_volumes(
    here: World, classes: dict[bool, str]
) -> None:
    await here.create("c", **claim("1Gi", classes[True]))
    async with watching(here, PERSISTENT_VOLUME_CLAIMS) as claims:
        async with operator(config(here.namespace, here.kubeconfig), here.dialer):
            await claims.until(asked("1Gi"))
            await provision(here, claims, "1Gi")
            await here.until("c", settled(3))
            pods = {pod.metadata.uid for pod in (await here.children("c"))[0]}

            await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", {"spec": asking("2Gi")})
            await claims.until(asked("2Gi"))
            await here.until("c", because("Ready", "VolumeExpanding"))
            await provision(here, claims, "2Gi")
            await here.until("c", settled(3))

        assert {pod.metadata.uid for pod in (await here.children("c"))[0]} == pods


async def test_F2_F3_a_class_that_lets_no_volume_grow_is_told_and_stops_nothing_else(
    here: World, classes: dict[bool, str]
) -> None:
    await here.create("c", **claim("1Gi", classes[False]))
    settings = config(here.namespace, here.kubeconfig)
    async with watching(here, PERSISTENT_VOLUME_CLAIMS) as claims, operator(settings, here.dialer):
        await claims.until(asked("1Gi"))
        await provision(here, claims, "1Gi")
        await here.until("c", settled(3))

        await here.api.patch(ETCD_CLUSTERS, here.namespace, "c", {"spec": asking("2Gi")})
        status = await here.until("c", because("Stalled", "VolumeNotExpandable"))
        words = next(one.message for one in status.conditions if one.type == "Stalled")
        assert "storageclass" in words.lower()
        assert asked("1Gi")(claims.now())

        # A member whose Pod goes is brought back all the same.
        async with watching(here, PODS) as seen:
            name, before = next(
                (name, pod.metadata.uid) for name, pod in seen.now().items() if name in claims.now()
            )
            await here.api.delete(PODS, here.namespace, name)
            await seen.until(lambda now: name in now and now[name].metadata.uid != before)
