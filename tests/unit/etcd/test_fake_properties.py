"""Whatever is done to the model, it stays a model of etcd: what is committed is neither forked nor lost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from app.etcd.errors import EtcdError
from app.etcd.fake import NoAnswerError, Process, SimulatedCluster, State, calls

if TYPE_CHECKING:
    from app.etcd.model import Member

MAX_PROCESSES = 6
pick = st.integers(min_value=0, max_value=MAX_PROCESSES - 1)
refused = contextlib.suppress(EtcdError, NoAnswerError)


class Membership(RuleBasedStateMachine):
    """Any order of starts, stops, cuts and changes; data is never lost, and nobody founds anew."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.etcd = SimulatedCluster(lambda: self.now)
        self.acknowledged: dict[bytes, bytes] = {}
        self.at: dict[int, State] = {}

    @initialize(size=st.integers(min_value=1, max_value=4))
    def bootstrap(self, size: int) -> None:
        self.etcd.bootstrap(size)

    def process(self, index: int) -> Process:
        found = list(self.etcd.processes.values())
        return found[index % len(found)]

    @rule(seconds=st.floats(min_value=0.1, max_value=10))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(index=pick)
    def stop(self, index: int) -> None:
        self.etcd.stop(self.process(index).name)

    @rule(index=pick)
    def start(self, index: int) -> None:
        process = self.process(index)
        if process.running:
            return
        members = self.known()
        cluster = {member.name or process.name: member.peer_urls[0] for member in members}
        self.etcd.start(process.name, cluster=cluster, state="existing")

    @rule(index=pick, cut=st.booleans(), lagging=st.booleans())
    def connect(self, index: int, cut: bool, lagging: bool) -> None:
        self.etcd.connect(self.process(index).name, cut=cut, lagging=lagging)

    @rule(index=pick, learner=st.booleans())
    def add(self, index: int, learner: bool) -> None:
        if len(self.etcd.processes) >= MAX_PROCESSES:
            return
        with refused:
            via = self.process(index)
            name = f"m{len(self.etcd.processes)}"
            calls.member_add(self.etcd, via, [f"http://{name}:2380"], learner=learner)
            self.etcd.create(name)

    @rule(index=pick, whom=pick)
    def promote(self, index: int, whom: int) -> None:
        data = self.process(whom).data
        if data is not None:
            with refused:
                calls.member_promote(self.etcd, self.process(index), data.member_id)

    @rule(index=pick, whom=pick)
    def remove(self, index: int, whom: int) -> None:
        data = self.process(whom).data
        if data is not None:
            with refused:
                calls.member_remove(self.etcd, self.process(index), data.member_id)

    @rule(index=pick, whom=pick)
    def move_leader(self, index: int, whom: int) -> None:
        data = self.process(whom).data
        if data is not None:
            with refused:
                calls.move_leader(self.etcd, self.process(index), data.member_id)

    @rule(index=pick, value=st.binary(max_size=2))
    def write(self, index: int, value: bytes) -> None:
        with refused:
            calls.write(self.etcd, self.process(index), b"k", value)
            self.acknowledged[b"k"] = value

    def known(self) -> list[Member]:
        states = [process.data.state for process in self.etcd.processes.values() if process.data]
        return list(max(states, key=lambda state: state.age).members.values())

    @invariant()
    def a_read_through_the_quorum_sees_what_was_acknowledged(self) -> None:
        for process in self.etcd.processes.values():
            with refused:
                keys = self.etcd.committed(process).keys
                assert {key: value for key, (value, _) in keys.items()} == self.acknowledged

    @invariant()
    def nothing_forks(self) -> None:
        for process in self.etcd.processes.values():
            if process.data is not None and process.data.state.members:
                state = process.data.state
                assert self.at.setdefault(state.index, state) == state

    @invariant()
    def who_leads_is_a_running_voter_with_a_quorum(self) -> None:
        for process in self.etcd.processes.values():
            leader = self.etcd.leader(process)
            if leader is not None:
                state = leader.held.state
                assert leader.running
                assert leader.held.member_id in state.voters
                there = {each.held.member_id for each in self.etcd.group(leader)}
                assert len(there & set(state.voters)) >= state.quorum


TestMembership = Membership.TestCase
TestMembership.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, derandomize=True)
