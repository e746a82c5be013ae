"""Reports of users about growing, shrinking and replacing, which take minutes, in simulated time."""

from __future__ import annotations

import pytest

from app.plan.membership.learners import LEARNER_SECONDS
from tests.unit.simulation.checks import UNSCHEDULABLE, Truth
from tests.unit.simulation.rows import REPLACE_SECONDS, followers, serving, settled, uids
from tests.unit.simulation.server import PODS


def test_B9_while_no_new_member_gets_healthy_there_is_one_at_most() -> None:
    world = settled(3)
    founders = uids(world)
    world.kubelet.crashing = 10**6
    world.server.edit(size=5)

    def look() -> None:
        serving(world)()
        truth = Truth.of(world.etcd)
        assert truth.state is not None
        assert len(truth.state.members) - len(truth.healthy) <= 1
        assert len(world.server.pods) - len(founders) <= 1

    hour = 3600.0
    world.turns(hour, each=look)
    tried = {change.name for change in world.server.log[PODS]} - founders.keys()
    assert 2 <= len(tried) <= hour / LEARNER_SECONDS + 1
    assert founders.items() <= uids(world).items()
    assert world.told.count("LearnerGivenUp") >= len(tried) - 1

    world.kubelet.crashing = 0
    world.end()
    assert world.settled()


def test_B9_nobody_is_added_while_a_voter_is_down_that_may_come_back() -> None:
    world = settled(5)
    down = followers(world)[0]
    world.kubelet.blocked[down] = None
    world.kubelet.kill(down)
    world.turns(10.0)
    world.server.edit(size=6)
    world.turns(60.0, each=serving(world))

    assert len(Truth.of(world.etcd).names) == 5
    world.kubelet.blocked.clear()
    world.end()
    assert world.settled()


def test_B12_the_dead_one_is_replaced_while_another_is_pending_for_ever() -> None:
    world = settled(5)
    dead, pending = followers(world)[:2]
    world.kubelet.blocked[pending] = UNSCHEDULABLE
    world.server.terminate(PODS, pending)
    world.turns(30.0, each=serving(world))
    world.server.terminate("PersistentVolumeClaim", dead)
    world.server.terminate(PODS, dead)
    world.turns(2 * REPLACE_SECONDS, each=serving(world))

    truth = Truth.of(world.etcd)
    assert dead not in truth.names
    assert pending in truth.names
    assert len(truth.names) == 5
    assert len(truth.healthy) == 4
    assert world.condition("Ready")[1] == "MemberUnschedulable"
    world.end()
    assert world.settled()


@pytest.mark.parametrize("leads", range(5))
def test_C1_whoever_leads_is_not_removed_and_writes_go_on(leads: int) -> None:
    world = settled(5)
    leader = sorted(world.server.pods)[leads]
    world.etcd.transfer(world.etcd.processes[leader])
    world.server.edit(size=3)
    world.turns(30.0, each=serving(world))

    assert world.settled()
    assert world.status.leader == leader


def test_C4_those_that_are_not_ready_go_first() -> None:
    world = settled(5)
    down = followers(world)[-2:]
    for name in down:
        world.etcd.connect(name, cut=True)
    world.turns(5.0)
    world.server.edit(size=3)
    world.turns(60.0, each=serving(world))

    assert not set(down) & Truth.of(world.etcd).names
    assert world.settled()


def test_C7_the_sizes_4_and_3_and_4_again_never_meet_an_old_claim() -> None:
    world = settled(5)
    claims: dict[str, str] = {}
    for size in (4, 3, 4):
        world.server.edit(size=size)
        world.end()
        for name in list(world.server.pods):
            world.server.terminate(PODS, name)
        world.end()
        now = {name: claim.uid for name, claim in world.server.volumes.items()}
        assert all(claims.get(name, uid) == uid for name, uid in now.items())
        claims |= now
        assert world.settled()


@pytest.mark.parametrize("takeovers", [0, 1, 5])
def test_X12_a_learner_that_is_stuck_is_given_up_also_when_the_operator_dies(takeovers: int) -> None:
    world = settled(3)
    world.server.edit(size=5)
    founders = set(world.server.pods)
    while world.server.pods.keys() == founders:
        world.do_turn(0, 0)
        world.now += 1.0
    (learner,) = world.server.pods.keys() - founders
    world.kubelet.blocked[learner] = None
    for _ in range(takeovers):
        world.turns(LEARNER_SECONDS / 10)
        world.do_takeover(0, 0)
    world.turns(LEARNER_SECONDS + 30.0, each=serving(world))

    assert learner not in Truth.of(world.etcd).names
    assert "LearnerGivenUp" in world.told
    world.end()
    assert world.settled()


@pytest.mark.parametrize("size", [5, 2])
def test_a_leader_that_takes_a_peer_for_lost_keeps_nobody_from_growing_or_shrinking(size: int) -> None:
    """etcd#14523: it refuses for as long as its connections stand; the others know better."""
    world = settled(3)
    lost, _ = followers(world)
    world.etcd.processes[world.status.leader].mistaken = lost
    world.server.edit(size=size)
    world.end()

    assert world.settled()
    assert len(world.server.pods) == size
