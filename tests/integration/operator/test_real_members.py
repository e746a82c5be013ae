"""What real members do under the operator: restarts, addresses, claims, removals behind its back."""

import asyncio

import pytest

from app.api.conditions import is_true
from app.kube.objects import CustomObject
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS, SERVICES
from app.kube.transport import Request, Stage
from app.observe.caches import ETCD_CLUSTERS
from tests.integration.etcd.local import DEADLINE, eventually
from tests.integration.operator.programs import WHOLE_PODS
from tests.integration.operator.real import RealPlace
from tests.integration.operator.running import Killed, config, operator
from tests.integration.operator.watching import watching

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

CLAIM = {"persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}}}
VERSION = "3.6.16"
Pods = dict[str, CustomObject]


async def resize(there: RealPlace, size: int) -> None:
    await there.api.patch(ETCD_CLUSTERS, there.namespace, "c", {"spec": {"size": size}})


async def listed(there: RealPlace, via: str) -> dict[str, int]:
    return {member.name: member.id for member in (await there.listed(via)).members}


async def test_H8_members_that_can_not_resolve_their_names_at_first_form_a_cluster_by_themselves(
    there: RealPlace,
) -> None:
    made = await there.create("c", version=VERSION)
    members = there.future(made)
    for member in members:
        there.kubelet.hosts.move(member)  # an address, and no name yet
    async with (
        operator(config(there.namespace, there.kubeconfig), there.dialer),
        watching(there, WHOLE_PODS) as pods,
    ):
        started = await pods.until(lambda found: sum("podIP" in pod.status for pod in found.values()) == 3)
        founders = {name: pod.metadata.uid for name, pod in started.items()}
        there.know("c", *members)
        await there.settled("c", 3)
        assert {name: pod.metadata.uid for name, pod in pods.now().items()} == founders
    assert not any("initContainers" in pod.spec for pod in started.values())
    headless = await there.api.get(SERVICES, there.namespace, "c")
    assert headless.spec["publishNotReadyAddresses"] is True


async def test_X7_X23_a_restart_and_another_address_leave_the_membership_as_it_is(there: RealPlace) -> None:
    await there.apply("c", version=VERSION, pod=CLAIM)
    async with (
        operator(config(there.namespace, there.kubeconfig), there.dialer),
        watching(there, WHOLE_PODS) as pods,
    ):
        status = await there.settled("c", 3)
        first, second, _ = status.members.ready
        before = await listed(there, first)
        for member in (await there.listed(first)).members:
            assert member.peer_urls == (f"http://{member.name}.c.{there.namespace}.svc:2380",)
        assert not any("lifecycle" in pod.spec["containers"][0] for pod in pods.now().values())
        await there.put(first, b"k", b"v")

        there.kubelet.kill(second)  # restarts in place
        await pods.until(lambda found: _restarts(found, second) > 0)
        await there.settled("c", 3)
        assert await listed(there, first) == before

        old, address = pods.now()[second].metadata.uid, there.kubelet.hosts.addresses[second]
        await there.api.delete(PODS, there.namespace, second)
        there.kubelet.hosts.move(second)
        await pods.until(lambda found: second in found and found[second].metadata.uid != old)
        await there.serving(second)
        await there.settled("c", 3)
        assert there.kubelet.hosts.addresses[second] != address
        assert await listed(there, first) == before
        assert await there.get(second, b"k") == b"v"


def _restarts(found: Pods, member: str) -> int:
    statuses = found[member].status.get("containerStatuses") or [{}]
    return int(statuses[0].get("restartCount", 0))


async def test_X2_a_member_whose_disk_comes_back_empty_is_replaced_by_a_new_one(there: RealPlace) -> None:
    """Not started again and again on nothing under its old id."""
    await there.apply("c", version=VERSION, pod=CLAIM)
    async with operator(config(there.namespace, there.kubeconfig), there.dialer):
        status = await there.settled("c", 3)
        first, second, _ = status.members.ready
        ids = await listed(there, first)
        await there.put(first, b"k", b"v")
        there.kubelet.wipe(second)
        await there.until("c", lambda seen: second not in {one.name for one in seen.member_status})
        status = await there.settled("c", 3)
        after = await listed(there, first)
    (new,) = after.keys() - ids.keys()
    assert ids[second] not in after.values()
    assert await there.get(new, b"k") == b"v"


async def test_X5_retained_claims_of_members_that_left_are_never_joined_from(there: RealPlace) -> None:
    """3 → 1 → 3: whoever joins is a new member on a new claim, under a name that was never used."""
    await there.apply("c", version=VERSION, pod=CLAIM, dataRetention="Retain")
    async with (
        operator(config(there.namespace, there.kubeconfig), there.dialer),
        watching(there, PERSISTENT_VOLUME_CLAIMS) as claims,
    ):
        status = await there.settled("c", 3)
        before = {name: claim.metadata.uid for name, claim in claims.now().items()}
        ids = await listed(there, status.members.ready[0])
        await there.put(status.members.ready[0], b"k", b"v")
        await resize(there, 1)
        (left,) = (await there.settled("c", 1)).members.ready
        await claims.until(lambda found: set(found) == {left})
        await resize(there, 3)
        status = await there.settled("c", 3)
        joined = set(status.members.ready) - {left}
        assert not joined & before.keys()
        assert {claim.metadata.uid for claim in claims.now().values()} & set(before.values()) == {
            before[left]
        }
        after = await listed(there, left)
        assert after[left] == ids[left]
        assert not set(after.values()) & (set(ids.values()) - {ids[left]})
        for member in joined:
            assert await there.get(member, b"k") == b"v"


async def test_X6_X8_a_member_removed_behind_the_operators_back_is_stopped_wiped_and_succeeded(
    there: RealPlace,
) -> None:
    """And a noted id that is wrong is put right: etcd's list and the data are the truth."""
    await there.apply("c", version=VERSION, pod=CLAIM)
    async with (
        operator(config(there.namespace, there.kubeconfig), there.dialer),
        watching(there, PERSISTENT_VOLUME_CLAIMS) as claims,
    ):
        status = await there.settled("c", 3)
        first, second, _ = status.members.ready
        ids = await listed(there, first)
        wrong = {"status": {"journal": {"latch": {"members": {first: {"id": "4d"}}}}}}
        await there.api.patch(ETCD_CLUSTERS, there.namespace, "c", wrong, subresource="status")
        right = f"{ids[first]:x}"

        def corrected(seen: object) -> bool:
            latch = seen.journal.latch  # type: ignore[attr-defined]
            return latch is not None and latch.members[first].id == right

        await there.until("c", corrected)

        async def remove() -> None:
            async with there.client(first) as client:
                header = (await client.status(deadline=DEADLINE)).header
                known = {"cluster_id": header.cluster_id, "member_id": header.member_id}
                await client.expect(**known, deadline=DEADLINE)
                await client.member_remove(ids[second], deadline=DEADLINE)

        await eventually(remove)
        await claims.until(lambda found: second not in found and len(found) == 3)
        status = await there.settled("c", 3)
        after = await listed(there, first)
    assert set(status.members.ready) == set(after)
    assert second not in after
    assert ids[second] not in after.values()


async def test_X19_a_member_that_does_not_start_costs_a_single_one_nothing(there: RealPlace) -> None:
    made = await there.apply("c", version=VERSION, size=1)
    first, second = there.future(made)[:2]
    async with operator(config(there.namespace, there.kubeconfig), there.dialer):
        await there.settled("c", 1)
        there.kubelet.hindered.add(second)
        await resize(there, 2)
        await there.until("c", lambda seen: seen.size == 2)
        assert [member.is_learner for member in (await there.listed(first)).members if not member.name] == [
            True
        ]
        await there.put(first, b"k", b"v")
        assert is_true((await there.until("c", lambda seen: seen.size == 2)).conditions, "Available")
        there.kubelet.hindered.clear()
        await there.settled("c", 2)
        assert await there.get(second, b"k") == b"v"


class DeadAfterTheAdd:
    """Ends the operator before it can create the Pod of the member that it has just added."""

    def __init__(self, member: str) -> None:
        self._member = member
        self.dead = asyncio.Event()

    async def __call__(self, stage: Stage, request: Request) -> None:
        makes = stage == "before" and request.method == "POST" and request.path.endswith("/pods")
        if self.dead.is_set() or (makes and self._member in str(request.body)):
            self.dead.set()
            raise Killed


async def test_X19_without_learners_a_crash_between_the_add_and_the_pod_costs_the_quorum_for_a_while(
    there: RealPlace,
) -> None:
    """One of two is no quorum, nobody can list the members, and the next operator still knows the name."""
    made = await there.apply("c", version="3.3.27", size=1)
    first, second = there.future(made)[:2]
    settings = config(there.namespace, there.kubeconfig)
    async with operator(settings, there.dialer):
        await there.settled("c", 1)
        await there.put(first, b"k", b"v")
    await resize(there, 3)
    crash = DeadAfterTheAdd(second)
    async with operator(settings, there.dialer, crash) as task:
        await asyncio.wait([task])
    assert task.exception() is not None
    await eventually(lambda: there.status(first), lambda status: status.leader == 0)
    await there.expire_lease()
    async with operator(settings, there.dialer):
        await there.settled("c", 3)
    assert second in await listed(there, first)
    assert await there.get(second, b"k") == b"v"
