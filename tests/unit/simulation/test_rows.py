"""Reports of users that take minutes, in simulated time: what a member that fails may cost the others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from app.api.cluster import ClusterSpec, RecoveryPolicy
from app.controllers import patience
from app.plan.membership import LEARNER_SECONDS
from tests.unit.simulation.checks import UNSCHEDULABLE, Truth
from tests.unit.simulation.server import PODS
from tests.unit.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable


REPLACE_SECONDS = ClusterSpec().replace_after


def settled(size: int, *, persistent: bool = True) -> World:
    """A world whose cluster has this size, with a key in it."""
    world = World(size, persistent=persistent)
    world.end()
    world.do_put(0, 0)
    return world


def serving(world: World) -> Callable[[], None]:
    """A look that fails when the cluster does not serve, or says that it does not."""

    def look() -> None:
        before = world.checks.acknowledged
        # As a client does: a member that was just removed refuses, and the next endpoint is tried.
        for endpoint in range(len(world.server.pods)):
            if world.checks.acknowledged == before:
                world.do_put(endpoint, 0)
        assert world.checks.acknowledged == before + 1
        assert world.condition("Available")[0] == "True"

    return look


def uids(world: World) -> dict[str, str]:
    return {name: pod.uid for name, pod in world.server.pods.items()}


def followers(world: World) -> list[str]:
    """The members that do not lead."""
    return [name for name in sorted(world.server.pods) if name != world.status.leader]


def starts(world: World, member: str) -> int:
    """How many Pods of a member there have been."""
    seen = {change.value.uid for change in world.server.log[PODS] if change.value and change.name == member}
    return len(seen)


def test_A2_A3_pods_that_all_end_at_once_come_back_as_the_members_they_were() -> None:
    """As on the one machine that everything runs on, after it was restarted."""
    world = settled(3)
    before, claims = uids(world), {name: claim.uid for name, claim in world.server.volumes.items()}
    ids = {member.name: member.id for member in world.status.member_status}
    for name in before:
        world.kubelet.kill(name)
        world.server.change_pod(name, phase="Succeeded", running=False, ready=False)
    world.end()

    assert world.settled()
    assert not before.items() & uids(world).items()
    assert {name: claim.uid for name, claim in world.server.volumes.items()} == claims
    assert {member.name: member.id for member in world.status.member_status} == ids


def test_A4_B4_a_member_that_fails_to_start_ten_times_costs_few_attempts_and_leaves_nothing() -> None:
    world = settled(3)
    member = followers(world)[0]
    others = {name: uid for name, uid in uids(world).items() if name != member}
    world.kubelet.failing = 10
    world.kubelet.evict(member)
    failed: list[float] = []

    def look() -> None:
        serving(world)()
        ended = [pod for pod in world.server.pods.values() if pod.terminal]
        assert len(ended) <= 1, "failed Pods pile up"
        if world.kubelet.failing < 10 - len(failed):
            failed.append(world.now)

    world.turns(REPLACE_SECONDS - 30.0, each=look)
    waits = [after - before for before, after in itertools.pairwise(failed)]
    assert waits == sorted(waits), "the waits grow"
    assert waits[-1] >= 100.0
    assert 1 < starts(world, member) <= 10
    assert starts(world, member) - 1 <= world.told.count("MemberEnded") <= starts(world, member)
    assert world.condition("Ready")[:2] == ("False", "MemberFailing")
    assert patience.CAP_SECONDS <= REPLACE_SECONDS

    world.turns(600.0, each=serving(world))
    world.end()
    assert world.settled()
    assert others.items() <= uids(world).items()


def test_B5_a_container_whose_first_starts_fail_is_started_again_in_its_pod() -> None:
    world = World(3, persistent=True)
    world.kubelet.crashing = 5
    world.turns(5.0)
    made = uids(world)
    assert len(made) == 3
    world.end()

    assert world.settled()
    assert uids(world) == made
    assert "MemberEnded" not in world.told


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


def in_silence(world: World, seconds: float) -> None:
    """Time in which no kubelet reports anything."""
    until = world.now + seconds
    while world.now < until:
        world.do_turn(0, 0)
        world.checks.always()
        world.now += 1.0


@pytest.mark.parametrize("persistent", [True, False])
def test_B13_pods_that_report_a_minute_late_are_waited_for(persistent: bool) -> None:
    world = World(3, persistent=persistent)
    in_silence(world, 60.0)
    made = uids(world)
    assert len(made) == 3
    world.end()
    assert world.settled()
    assert uids(world) == made

    world.server.edit(size=4)
    world.turns(10.0)
    in_silence(world, 60.0)
    world.end()
    assert world.settled()
    assert len({change.name for change in world.server.log[PODS]}) == 4


@pytest.mark.parametrize("deadline", [60, 900])
def test_B13_a_pod_that_never_reports_is_replaced_at_the_deadline_that_is_set(deadline: int) -> None:
    world = settled(3)
    world.server.edit(recovery=RecoveryPolicy(member_replace_after_seconds=deadline))
    member = followers(world)[0]
    world.server.terminate(PODS, member)
    world.turns(1.0)
    in_silence(world, deadline - 5.0)
    made = uids(world)
    assert made.keys() == Truth.of(world.etcd).names
    assert starts(world, member) == 2

    in_silence(world, 20.0)
    assert member not in Truth.of(world.etcd).names
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


def test_H1_a_cluster_that_has_no_room_to_grow_serves_on_and_can_be_asked_for_less() -> None:
    world = settled(1)
    world.kubelet.room = 1
    world.server.edit(size=3)
    for _ in range(2):
        world.turns(LEARNER_SECONDS / 2, each=serving(world))
        assert world.condition("Ready")[:2] == ("False", "MemberUnschedulable")
        assert "anti-affinity" in world.condition("Ready")[2]
        world.turns(LEARNER_SECONDS / 2, each=serving(world))
    world.server.edit(size=1)
    world.end()
    assert world.settled()


@pytest.mark.parametrize("persistent", [True, False])
def test_H1_a_cluster_that_never_had_room_is_founded_once_it_is_asked_for_less(persistent: bool) -> None:
    world = World(3, persistent=persistent)
    world.kubelet.room = 1
    world.turns(60.0)
    assert world.status.phase == "Creating"
    assert world.condition("Ready")[:2] == ("False", "MemberUnschedulable")
    assert "anti-affinity" in world.condition("Ready")[2]

    world.server.edit(size=1)
    world.end()
    assert world.settled()
    assert "BootstrapAbandoned" in world.told


def test_H1_what_a_quorum_has_been_started_for_is_finished_first() -> None:
    """It may have founded the cluster already, though nobody has seen it."""
    world = World(3, persistent=True)
    world.kubelet.room = 2
    while not world.server.pods:
        world.do_turn(0, 0)
    world.kubelet.step_all()
    assert sum(pod.started for pod in world.server.pods.values()) == 2
    for process in world.etcd.processes.values():
        process.dialable = False
    made = uids(world)
    world.server.edit(size=1)
    world.turns(30.0)
    assert uids(world) == made
    world.end()

    assert world.settled()
    assert "BootstrapAbandoned" not in world.told
    assert "MemberRemoved" in world.told


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
