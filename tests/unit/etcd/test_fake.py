"""The model of etcd obeys the rules that real members obey."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from app.etcd import errors
from app.etcd.endpoint import Endpoint
from app.etcd.fake import Exit, FakeDialer, Fault, SimulatedCluster
from app.etcd.model import Alarm, AlarmType

if TYPE_CHECKING:
    from app.etcd.client import Client

pytestmark = pytest.mark.looptime

DEADLINE = 3.0


class World:
    """A simulated cluster on the loop's clock, and clients to it."""

    def __init__(self, size: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.etcd = SimulatedCluster(self.loop.time)
        self.identity = self.etcd.bootstrap(size)
        self.dialer = FakeDialer(self.etcd)

    async def client(self, name: str = "m0") -> Client:
        async with self.dialer.dial(Endpoint(name)) as client:
            await client.expect(
                cluster_id=self.identity.cluster_id, member_id=self.member_id(name), deadline=DEADLINE
            )
            return client

    def member_id(self, name: str) -> int:
        return self.etcd.processes[name].held.member_id

    def leader(self) -> str:
        leader = self.etcd.leader(self.etcd.processes["m0"])
        assert leader is not None
        return leader.name

    def urls(self, *names: str) -> dict[str, str]:
        return {name: self.etcd.processes[name].peer_url for name in names}

    def down(self, *names: str) -> None:
        for name in names:
            self.etcd.stop(name)

    def fail(self, call: str, fault: Fault) -> None:
        self.dialer.faults = lambda _name, called: fault if called == call else None

    def lose(self, name: str) -> None:
        self.etcd.stop(name)
        self.etcd.wipe(name)


async def test_a_bootstrap_has_the_identity_that_was_computed() -> None:
    world = World(3)
    client = await world.client()
    listed = await client.member_list(deadline=DEADLINE)
    assert {member.name: member.id for member in listed.members} == world.identity.member_ids


async def test_no_add_for_five_seconds_after_a_bootstrap() -> None:
    world = World(3)
    client = await world.client()
    with pytest.raises(errors.Unhealthy):
        await client.member_add(["http://m3:2380"], deadline=DEADLINE)
    await asyncio.sleep(5.1)
    assert (await client.member_add(["http://m3:2380"], deadline=DEADLINE)).member.is_learner


async def test_no_add_with_one_of_three_down_but_after_its_removal() -> None:
    world = World(3)
    await asyncio.sleep(6)
    world.down("m2")
    client = await world.client()
    with pytest.raises(errors.Unhealthy):
        await client.member_add(["http://m3:2380"], deadline=DEADLINE)
    await client.member_remove(world.identity.member_ids["m2"], deadline=DEADLINE)
    await client.member_add(["http://m3:2380"], deadline=DEADLINE)


async def test_a_member_that_takes_a_peer_for_lost_takes_no_other_and_its_peers_do() -> None:
    """etcd#14523; it lasts until the member, or the peer that it is mistaken about, is started again."""
    world = World(3)
    await asyncio.sleep(6)
    world.etcd.processes["m0"].mistaken = "m1"
    client = await world.client()
    with pytest.raises(errors.Unhealthy):
        await client.member_add(["http://m3:2380"], deadline=DEADLINE)
    other = await world.client("m2")
    assert (await other.member_add(["http://m3:2380"], deadline=DEADLINE)).member.is_learner


async def test_no_removal_of_a_healthy_voter_while_another_is_down() -> None:
    world = World(3)
    await asyncio.sleep(6)
    world.down("m2")
    client = await world.client()
    with pytest.raises(errors.Unhealthy):
        await client.member_remove(world.identity.member_ids["m1"], deadline=DEADLINE)


async def test_one_learner_at_a_time_and_only_once() -> None:
    world = World(1)
    client = await world.client()
    await client.member_add(["http://m1:2380"], deadline=DEADLINE)
    with pytest.raises(errors.AlreadyExists):
        await client.member_add(["http://m1:2380"], deadline=DEADLINE)
    await asyncio.sleep(1)
    with pytest.raises(errors.PeerURLExists):
        await client.member_add(["http://m1:2380"], deadline=DEADLINE)
    with pytest.raises(errors.TooManyLearners):
        await client.member_add(["http://m2:2380"], deadline=DEADLINE)


async def test_a_learner_is_promoted_when_it_has_the_log() -> None:
    world = World(1)
    client = await world.client()
    process = world.etcd.create("m1")
    added = await client.member_add([process.peer_url], deadline=DEADLINE)
    with pytest.raises(errors.LearnerNotReady):
        await client.member_promote(added.member.id, deadline=DEADLINE)
    assert world.etcd.start("m1", cluster=world.urls("m0", "m1"), state="existing") is None
    learner = await world.client("m1")
    with pytest.raises(errors.LearnerRefuses):
        await learner.member_list(deadline=DEADLINE)
    promoted = await client.member_promote(added.member.id, deadline=DEADLINE)
    assert len(promoted.voters) == 2
    with pytest.raises(errors.NotLearner):
        await client.member_promote(added.member.id, deadline=DEADLINE)


async def test_a_voter_that_never_starts_costs_a_single_member_its_quorum() -> None:
    world = World(1)
    client = await world.client()
    await client.member_add(["http://m1:2380"], learner=False, deadline=DEADLINE)
    with pytest.raises(errors.DeadlineExceeded):
        await client.put(b"k", b"v", deadline=DEADLINE)


async def test_without_a_quorum_calls_hang_for_their_deadline_and_status_answers() -> None:
    world = World(3)
    client = await world.client()
    world.down("m1", "m2")
    before = world.loop.time()
    with pytest.raises(errors.DeadlineExceeded):
        await client.member_list(deadline=DEADLINE)
    assert world.loop.time() - before == pytest.approx(DEADLINE)
    assert (await client.status(deadline=DEADLINE)).leader == 0
    assert len((await client.member_list(linearizable=False, deadline=DEADLINE)).members) == 3
    world.etcd.stop("m0")
    world.etcd.start("m0", cluster={}, state="existing")
    with pytest.raises(errors.DeadlineExceeded):
        await client.status(deadline=DEADLINE)


async def test_a_voter_that_receives_nothing_counts_for_no_quorum() -> None:
    world = World(3)
    client = await world.client("m2")
    world.etcd.connect("m1", lagging=True)
    await client.put(b"k", b"v", deadline=DEADLINE)
    world.down("m0")
    with pytest.raises(errors.DeadlineExceeded):
        await client.put(b"k", b"v", deadline=DEADLINE)
    world.etcd.connect("m1")
    await client.put(b"k", b"v", deadline=DEADLINE)


async def test_leadership_moves_only_by_the_leader_and_only_to_a_voter_that_is_there() -> None:
    world = World(3)
    leader = world.leader()
    other, third = sorted({"m0", "m1", "m2"} - {leader})
    client = await world.client(leader)
    with pytest.raises(errors.BadTransferee):
        await client.move_leader(1, deadline=DEADLINE)
    world.down(third)
    with pytest.raises(errors.DeadlineExceeded):
        await client.move_leader(world.identity.member_ids[third], deadline=DEADLINE)
    await client.move_leader(world.member_id(other), deadline=DEADLINE)
    assert world.leader() == other
    with pytest.raises(errors.NotLeader):
        await client.move_leader(world.member_id(other), deadline=DEADLINE)


async def test_x9_an_empty_folder_with_existing_exits_and_with_new_founds_the_cluster_anew() -> None:
    world = World(1)
    client = await world.client()
    await client.put(b"k", b"v", deadline=DEADLINE)
    world.lose("m0")
    assert world.etcd.start("m0", cluster={"x": "http://x:2380"}, state="existing") is Exit.NOT_LISTED
    assert world.etcd.start("m0", cluster=world.urls("m0"), state="existing") is Exit.NO_PEERS
    assert world.etcd.start("m0", cluster=world.urls("m0"), state="new") is None
    client = await world.client()  # the same ids
    assert (await client.get(b"k", deadline=DEADLINE)).value is None


async def test_two_wiped_members_under_new_lose_what_the_third_acknowledged() -> None:
    world = World(3)
    urls = world.urls("m0", "m1", "m2")
    world.down("m0")
    client = await world.client("m1")
    await client.put(b"k", b"v", deadline=DEADLINE)
    world.lose("m1")
    world.lose("m2")
    for name in ("m1", "m2", "m0"):
        assert world.etcd.start(name, cluster=urls, state="new") is None
    client = await world.client("m0")
    assert (await client.get(b"k", deadline=DEADLINE)).value is None


async def test_x1_x2_the_same_member_does_not_come_back_without_its_data() -> None:
    world = World(3)
    urls = world.urls("m0", "m1", "m2")
    world.lose("m2")
    assert world.etcd.start("m2", cluster=urls, state="new") is Exit.ALREADY_BOOTSTRAPPED
    assert world.etcd.start("m2", cluster=urls, state="existing") is Exit.LOST_LOG


async def test_x10_a_joiner_with_a_stale_list_exits() -> None:
    world = World(1)
    client = await world.client()
    world.etcd.create("m1")
    assert world.etcd.start("m1", cluster=world.urls("m0", "m1"), state="existing") is Exit.COUNT_UNEQUAL
    await client.member_add(["http://other:2380"], deadline=DEADLINE)
    assert world.etcd.start("m1", cluster=world.urls("m0", "m1"), state="existing") is Exit.URLS_UNEQUAL


async def test_a_removed_member_ends_also_when_it_comes_back_later() -> None:
    world = World(3)
    await asyncio.sleep(6)
    world.down("m2")
    client = await world.client()
    await client.member_remove(world.identity.member_ids["m2"], deadline=DEADLINE)
    assert world.etcd.start("m2", cluster={}, state="existing") is Exit.REMOVED


async def test_a_leader_that_removes_itself_leaves_that_to_a_quorum_and_the_log_does_not_fork() -> None:
    """The removal is committed by m1 and m2; that m0 lags and so m1 alone is no quorum comes after it."""
    world = World(3)
    world.etcd.connect("m0", lagging=True)
    await asyncio.sleep(6)
    assert world.etcd.leader(world.etcd.processes["m1"]) is world.etcd.processes["m2"]
    client = await world.client("m1")
    await client.member_remove(world.member_id("m2"), deadline=DEADLINE)
    world.etcd.connect("m0")
    held = [process.held.state for process in world.etcd.processes.values()]
    assert {member.name for state in held for member in state.members.values()} == {"m0", "m1"}
    by_index = {state.index: state for state in held}
    assert all(by_index[state.index] == state for state in held)


async def test_a_member_that_is_cut_off_has_a_stale_list_and_no_quorum() -> None:
    world = World(3)
    await asyncio.sleep(6)
    world.etcd.connect("m2", cut=True)
    client, stale = await world.client("m0"), await world.client("m2")
    await client.member_remove(world.member_id("m2"), deadline=DEADLINE)
    assert len((await stale.member_list(linearizable=False, deadline=DEADLINE)).members) == 3
    with pytest.raises(errors.DeadlineExceeded):
        await stale.member_list(deadline=DEADLINE)
    world.etcd.connect("m2")
    assert world.etcd.processes["m2"].exit is Exit.REMOVED


async def test_forcing_a_new_cluster_keeps_its_id_and_its_keys_and_loses_them_again_unfenced() -> None:
    world = World(3)
    client = await world.client()
    await client.put(b"k", b"v", deadline=DEADLINE)
    world.down("m0", "m1", "m2")
    world.etcd.start("m0", cluster={}, state="existing", force_new_cluster=True)
    client = await world.client()
    assert (await client.get(b"k", deadline=DEADLINE)).value == b"v"
    assert len((await client.member_list(deadline=DEADLINE)).members) == 1
    await client.put(b"later", b"v", deadline=DEADLINE)
    world.down("m0")
    for name in ("m1", "m2"):
        world.etcd.start(name, cluster={}, state="existing")
    old = await world.client("m1")
    await old.put(b"split", b"brain", deadline=DEADLINE)
    assert (await old.get(b"later", deadline=DEADLINE)).value is None


async def test_nospace_refuses_writes_until_it_is_disarmed() -> None:
    world = World(1)
    client = await world.client()
    alarm = Alarm(world.member_id("m0"), AlarmType.NOSPACE)
    process = world.etcd.processes["m0"]
    world.etcd.commit(process, alarms=frozenset({alarm}))
    assert (await client.alarms(deadline=DEADLINE)).alarms == (alarm,)
    with pytest.raises(errors.NoSpace):
        await client.put(b"k", b"v", deadline=DEADLINE)
    assert (await client.disarm(alarm, deadline=DEADLINE)).alarms == ()
    await client.put(b"k", b"v", deadline=DEADLINE)


async def test_a_lost_answer_may_or_may_not_have_been_carried_out() -> None:
    world = World(1)
    client = await world.client()
    for fault, expected in ((Fault.LOST_BEFORE, 1), (Fault.LOST_AFTER, 2)):
        world.fail("member_add", fault)
        with pytest.raises(errors.DeadlineExceeded):
            await client.member_add(["http://m1:2380"], deadline=DEADLINE)
        assert len((await client.member_list(deadline=DEADLINE)).members) == expected


async def test_a_change_needs_a_confirmed_identity() -> None:
    world = World(1)
    async with world.dialer.dial(Endpoint("m0")) as client:
        with pytest.raises(errors.IdentityMismatch):
            await client.member_add(["http://m1:2380"], deadline=DEADLINE)
        with pytest.raises(errors.IdentityMismatch):
            await client.expect(cluster_id=1, member_id=None, deadline=DEADLINE)
    with pytest.raises(errors.Unreachable):
        async with world.dialer.dial(Endpoint("10.9.9.9")):
            pass
