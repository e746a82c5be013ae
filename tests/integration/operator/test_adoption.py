"""The old operator's clusters, with real members, are taken over as they run."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from app.api.conditions import find
from app.api.status import ClusterStatus
from app.etcd.model import Member
from app.kube.objects import Object, Pod
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS, SERVICES, Resource
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.etcd.local import DEADLINE, eventually
from tests.integration.operator.old_operator import OldCluster, lock
from tests.integration.operator.programs import WHOLE_PODS
from tests.integration.operator.real import DOMAIN, RealPlace
from tests.integration.operator.running import config, operator
from tests.integration.operator.watching import watching

pytestmark = pytest.mark.integration

ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints", Object)
MEMBERS = ("c-f8wq4m2xkz", "c-l9v6tn7rjd", "c-z5hb3s8pgc")
CLAIM = {"resources": {"requests": {"storage": "1Gi"}}}
LOCK_SECONDS = 3


@dataclass(frozen=True, slots=True)
class Fixture:
    """A cluster of old: the spec that its user wrote, and whose operator made it of which etcd."""

    spec: dict[str, Any]
    etcd: str
    fork: bool = False
    domain: str = ""

    @property
    def persistent(self) -> bool:
        return "persistentVolumeClaimSpec" in self.spec.get("pod", {})


COREOS = Fixture({"version": "3.3.27"}, "3.3.27")
FORK = Fixture({"version": "v3.6.16", "pod": {"persistentVolumeClaimSpec": CLAIM}}, "3.6.16", fork=True)
WITH_DOMAIN = Fixture(
    {"version": "3.5.35", "pod": {"ClusterDomain": f".{DOMAIN}"}}, "3.5.35", domain=f".{DOMAIN}"
)


async def made_by_the_old_operator(there: RealPlace, fixture: Fixture) -> OldCluster:
    """Make a cluster as the old operator did: a seed, then one voter after the other."""
    made = await there.apply("c", **fixture.spec)
    old = OldCluster(
        "c",
        there.namespace,
        made.metadata.uid,
        fixture.etcd,
        fork=fixture.fork,
        persistent=fixture.persistent,
        domain=fixture.domain,
    )
    there.know("c", *MEMBERS)
    for service in old.services():
        await there.api.create(SERVICES, service, namespace=there.namespace)
    for number, member in enumerate(MEMBERS):
        if number:
            await eventually(partial(add_voter, there, old.peer_url(member)))
        if old.persistent:
            await there.api.create(PERSISTENT_VOLUME_CLAIMS, old.claim(member), namespace=there.namespace)
        pod = old.pod(member, list(MEMBERS[:number]), token="" if number else "a-uuid")
        await there.api.create(PODS, pod, namespace=there.namespace)
        await there.serving(member)
    return old


async def add_voter(there: RealPlace, peer_url: str) -> None:
    async with there.client(MEMBERS[0]) as client:
        header = (await client.status(deadline=DEADLINE)).header
        await client.expect(cluster_id=header.cluster_id, member_id=header.member_id, deadline=DEADLINE)
        await client.member_add([peer_url], learner=False, deadline=DEADLINE)


async def pods_of(there: RealPlace) -> dict[str, Pod]:
    return {pod.metadata.name: pod for pod in (await there.children("c"))[0]}


async def members_of(there: RealPlace, via: str) -> dict[str, Member]:
    return {member.name: member for member in (await there.listed(via)).members}


def claimed_by_another(status: ClusterStatus) -> bool:
    available = find(status.conditions, "Available")
    return available is not None and available.reason == "ClaimedByAnother"


async def services_of(there: RealPlace) -> dict[str, tuple[str, str]]:
    """The uid and the address of each Service."""
    found = (await there.children("c"))[1]
    return {one.metadata.name: (one.metadata.uid, one.spec["clusterIP"]) for one in found}


async def adopted(there: RealPlace, fixture: Fixture) -> None:
    """What holds of every fixture: nobody is restarted, nothing is lost, all is as the spec asks for."""
    await made_by_the_old_operator(there, fixture)
    await there.put(MEMBERS[1], b"k", b"v")
    before, members, services = (
        await pods_of(there),
        await members_of(there, MEMBERS[0]),
        await services_of(there),
    )
    await there.api.create(ENDPOINTS, lock("then", seconds=LOCK_SECONDS), namespace=there.namespace)
    async with operator(config(there.namespace, there.kubeconfig), there.dialer):
        await there.until("c", claimed_by_another)
        status = await there.settled("c", 3)
        after = await pods_of(there)
        assert {name: pod.metadata.uid for name, pod in after.items()} == {
            name: pod.metadata.uid for name, pod in before.items()
        }
        assert not any(one.restart_count for pod in after.values() for one in pod.status.container_statuses)
        assert await members_of(there, MEMBERS[0]) == members
        assert {one.name: int(one.id, 16) for one in status.member_status} == {
            name: member.id for name, member in members.items()
        }
        assert await there.get(MEMBERS[2], b"k") == b"v"
        now = await services_of(there)
        assert now == services
        claim = status.journal.claim
        assert claim is not None
        assert claim.holder == f"{there.namespace}/etcd-operator.database.coreos.com"


@pytest.mark.timeout(180)
async def test_I8_a_cluster_of_coreos_is_adopted_and_its_members_are_replaced_when_they_are_lost(
    there: RealPlace,
) -> None:
    """Etcd 3.3 on emptyDirs: a member that is gone is gone with its data, and a voter takes its place."""
    await adopted(there, COREOS)
    async with operator(config(there.namespace, there.kubeconfig), there.dialer):
        async with watching(there, WHOLE_PODS) as pods:
            await there.api.delete(PODS, there.namespace, MEMBERS[2])
            await pods.until(lambda found: len(found) == 3 and MEMBERS[2] not in found)
            status = await there.settled("c", 3)
            (new,) = set(status.members.ready) - set(MEMBERS)
            made = pods.now()
        assert made[new].spec["restartPolicy"] == "Always"
        assert made[MEMBERS[0]].spec["restartPolicy"] == "Never"
        assert await there.get(new, b"k") == b"v"
        assert not (await members_of(there, MEMBERS[0]))[new].is_learner


@pytest.mark.timeout(180)
async def test_I8_a_cluster_of_the_fork_on_claims_is_adopted_and_a_member_comes_back_on_its_claim(
    there: RealPlace,
) -> None:
    await adopted(there, FORK)
    members = await members_of(there, MEMBERS[0])
    async with operator(config(there.namespace, there.kubeconfig), there.dialer):
        async with watching(there, WHOLE_PODS) as pods:
            before = pods.now()[MEMBERS[2]]
            await there.api.delete(PODS, there.namespace, MEMBERS[2])
            await pods.until(
                lambda found: MEMBERS[2] in found and found[MEMBERS[2]].metadata.uid != before.metadata.uid
            )
            made = pods.now()[MEMBERS[2]]
        assert made.spec["containers"][0]["ports"][-1]["name"] == "metrics"
        assert made.spec["securityContext"]["runAsUser"] == 0  # the data is root's
        await there.settled("c", 3)
        assert await members_of(there, MEMBERS[0]) == members
        assert await there.get(MEMBERS[2], b"k") == b"v"


@pytest.mark.timeout(180)
async def test_H5_I8_a_cluster_of_another_domain_is_adopted_and_grows_in_it(there: RealPlace) -> None:
    """The old operator forgot the domain when it was restarted; ours is restarted before it adds a member."""
    await adopted(there, WITH_DOMAIN)
    async with operator(config(there.namespace, there.kubeconfig), there.dialer):
        await there.api.patch(ETCD_CLUSTERS, there.namespace, "c", {"spec": {"size": 4}})
        await there.settled("c", 4)
        urls = {url for one in (await members_of(there, MEMBERS[0])).values() for url in one.peer_urls}
        assert len(urls) == 4
        assert all(url.endswith(f".c.{there.namespace}.svc.{DOMAIN}:2380") for url in urls)


def spec_invalid(status: ClusterStatus) -> bool:
    available = find(status.conditions, "Available")
    return available is not None and available.reason == "SpecInvalid" and "spec.TLS" in available.message


async def test_a_cluster_with_tls_is_told_to_be_unsupported_and_left_as_it_is(there: RealPlace) -> None:
    """Nobody asks its members anything: that its Pods are there and are not touched is all that matters."""
    secrets = {"operatorSecret": "o", "member": {"peerSecret": "p", "serverSecret": "s"}}
    made = await there.apply("c", version="3.6.16", TLS={"static": secrets})
    old = OldCluster("c", there.namespace, made.metadata.uid, "3.6.16")
    there.kubelet.hindered.update(MEMBERS)
    for member in MEMBERS:
        await there.api.create(PODS, old.pod(member, []), namespace=there.namespace)
    before = {name: pod.metadata.resource_version for name, pod in (await pods_of(there)).items()}
    async with operator(config(there.namespace, there.kubeconfig), there.dialer):
        await there.until("c", spec_invalid)
    after = await pods_of(there)
    assert {name: pod.metadata.resource_version for name, pod in after.items()} == before
    assert await services_of(there) == {}
