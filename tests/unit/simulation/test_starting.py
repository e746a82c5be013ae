"""Reports of users about Pods that fail, wait or report late, which take minutes, in simulated time."""

from __future__ import annotations

import itertools

import pytest

from app.api.cluster import RecoveryPolicy
from app.controllers import patience
from app.plan.membership.learners import LEARNER_SECONDS
from tests.unit.simulation.checks import Truth
from tests.unit.simulation.rows import REPLACE_SECONDS, followers, in_silence, serving, settled, starts, uids
from tests.unit.simulation.server import PODS
from tests.unit.simulation.world import World


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
