"""Nodes that are emptied for maintenance, under clients that go on writing and reading."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from bench.chaos.clients import Clients
from bench.chaos.history import longest_gap
from bench.chaos.linearizable import violations
from bench.chaos.run import addresses
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.e2e.kube import eventually
from tests.e2e.subject import CLAIM, Subject

pytestmark = pytest.mark.e2e

LONGEST_GAP_SECONDS = 10.0
"""A member that is told to stop hands leadership over; an election takes 1 to 2 s when that fails."""


def drain(cluster: Cluster, node: str, *, seconds: int) -> None:
    """As a person does, but only members' Pods; no --force is needed: their controller is an EtcdCluster."""
    only = ("--pod-selector=app=etcd", "--delete-emptydir-data", "--ignore-daemonsets")
    cluster.kubectl("drain", node, *only, f"--timeout={seconds}s", timeout=seconds + 30)


@contextmanager
def cordoned(cluster: Cluster, node: str) -> Iterator[None]:
    """Let nothing new onto a node meanwhile."""
    cluster.kubectl("cordon", node)
    try:
        yield
    finally:
        cluster.kubectl("uncordon", node)


def came_back(subject: Subject, member: str, was: str) -> bool:
    """Whether a member has another Pod than it had, and all is well."""
    return subject.uids().get(member, was) != was and subject.ready()


@pytest.mark.timeout(400)
def test_H2_H4_each_node_is_drained_in_turn_under_writers(cluster: Cluster, subject: Subject) -> None:
    subject.apply(size=3, pod={"persistentVolumeClaimSpec": CLAIM})
    subject.wait_ready(timeout=120)
    ids, claims = subject.ids(), subject.uids("persistentvolumeclaims")
    homes = {pod["spec"]["nodeName"]: name for name, pod in subject.pods().items()}
    assert set(homes) == set(cluster.nodes)
    first, second, *_ = cluster.nodes

    clients = Clients(lambda: addresses(subject), int(subject.status["clusterID"], 16), seed=4)
    begun = time.monotonic()
    clients.start()
    try:
        for node in cluster.nodes:
            before = subject.uids()
            with cordoned(cluster, node):
                drain(cluster, node, seconds=60)
                # Its volume is on that node, so the member waits for it; no other one may go meanwhile.
                if node == first:
                    with cordoned(cluster, second), pytest.raises(HarnessError, match="disruption budget"):
                        drain(cluster, second, seconds=3)
                    assert subject.uids()[homes[second]] == before[homes[second]]
                assert subject.condition("Available")["status"] == "True"
            back = partial(came_back, subject, homes[node], before[homes[node]])
            eventually(back, what=f"{homes[node]} to come back", timeout=90)
    finally:
        clients.stop()

    assert subject.ids() == ids
    assert subject.uids("persistentvolumeclaims") == claims
    clients.read_everything(seconds=60)
    assert clients.lost == []
    assert violations(clients.history) == []
    gap, _ = longest_gap(clients.history, begin=begun, end=time.monotonic())
    print(f"{len(clients.acknowledged)} acknowledged writes, the longest gap was {gap:.2f} s")
    assert gap < LONGEST_GAP_SECONDS
