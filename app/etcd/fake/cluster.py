"""The model itself: how processes start, who is connected to whom, who leads, and what gets committed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from app.etcd import identity
from app.etcd.fake.state import Data, Exit, NoAnswerError, Process, State
from app.etcd.model import Member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

TOKEN: Final = "token"  # noqa: S105 - a cluster token tells clusters apart, it is no secret
_EMPTY: Final = State(0, 0, {})


class SimulatedCluster:
    """A handful of processes that may or may not form a cluster.

    Every event is a method, and takes place at once; ``clock`` gives the time in seconds. What members may be
    asked is in ``app.etcd.fake.calls``.
    """

    def __init__(self, clock: Callable[[], float], *, version: str = "3.6.16") -> None:
        self.clock = clock
        self.processes: dict[str, Process] = {}
        self._version = version
        self._leaders: dict[int, Process] = {}  # by cluster id, of those that are not cut off
        self._connected: dict[frozenset[str], float] = {}
        self._had_data: set[int] = set()

    def create(self, name: str, *, peer_url: str = "", client_url: str = "", version: str = "") -> Process:
        """Make a process that does not run yet, with an empty data folder."""
        process = Process(
            name,
            peer_url or f"http://{name}:2380",
            client_url or f"http://{name}:2379",
            version or self._version,
        )
        self.processes[name] = process
        return process

    def bootstrap(self, size: int, *, token: str = TOKEN) -> identity.Identity:
        """Create and start ``m0``, ``m1`` … as a static bootstrap does."""
        cluster = {name: self.create(name).peer_url for name in (f"m{index}" for index in range(size))}
        for name in cluster:
            self.start(name, cluster=cluster, state="new", token=token)
        return identity.bootstrap(cluster, token=token)

    def start(
        self,
        name: str,
        *,
        cluster: Mapping[str, str],
        state: str,
        token: str = TOKEN,
        force_new_cluster: bool = False,
    ) -> Exit | None:
        """Start a process with this initial cluster; returns why it ended at once, or None while it runs."""
        process = self.processes[name]
        if process.running:
            raise ValueError(f"{name} runs already")
        process.exit, process.joined, process.mistaken = None, False, ""
        for each in self.processes.values():
            each.mistaken = each.mistaken if each.mistaken != name else ""  # they connect anew
        found: Data | Exit
        if process.data is not None:
            found = process.data  # with data, all that is said about the initial cluster is ignored
        elif state == "new":
            found = self._found(process, cluster, token)
        else:
            found = self._join(process, cluster)
        if isinstance(found, Exit):
            process.exit = found
            return found
        if force_new_cluster:
            own = found.state.members[found.member_id]
            found.state = replace(found.state, members={own.id: replace(own, is_learner=False)})
        process.data, process.running = found, True
        self.settle()
        return process.exit

    def stop(self, name: str) -> None:
        """End a process; its data stays."""
        process = self.processes[name]
        process.running = process.joined = False
        self.settle()

    def wipe(self, name: str) -> None:
        """Lose the data of a process that does not run."""
        process = self.processes[name]
        if process.running:
            raise ValueError(f"{name} still runs")
        process.data = None

    def connect(self, name: str, *, cut: bool = False, lagging: bool = False) -> None:
        """Cut a member off its peers, keep it from receiving anything new, or (neither) undo that."""
        process = self.processes[name]
        process.cut, process.lagging = cut, lagging
        self.settle()

    def group(self, process: Process) -> list[Process]:
        """Return the running processes of one cluster that reach each other, this one included."""
        if not process.running or process.data is None:
            return []
        return [process] if process.cut else list(self._together(process.data.cluster_id))

    def leader(self, via: Process) -> Process | None:
        """Return the leader that a member follows."""
        if not via.running or via.data is None:
            return None
        if via.cut:
            return via if self._electable(via, [via]) else None
        return self._leaders.get(via.data.cluster_id)

    def committed(self, via: Process) -> State:
        """Return what a quorum agrees on, as a member learns it; raises NoAnswerError without one."""
        leader = self.leader(via)
        if not via.joined or leader is None or leader.data is None:
            raise NoAnswerError
        if via.lagging and via is not leader:
            raise NoAnswerError
        return leader.data.state

    def commit(self, via: Process, **changes: Any) -> State:
        """Append to the log through a member, and return the state after it.

        A quorum of the membership before it has the entry by then, whatever the membership after it allows:
        a change that leaves no reachable quorum is committed all the same (raft: a configuration counts from
        the entry on that makes it).
        """
        before, leader = self.committed(via), self.leader(via)
        if leader is None:
            raise NoAnswerError
        self._append(leader, replace(before, **changes))
        after = leader.held.state
        self._replicate(leader, self.group(leader))
        self.settle()
        return after

    def transfer(self, target: Process) -> None:
        """Make another member the leader."""
        data = target.held
        self._leaders[data.cluster_id] = target
        self._append(target, replace(data.state, term=data.state.term + 1))
        self.settle()

    def find(self, member_id: int) -> Process | None:
        """Return the process whose data is this member's."""
        found = (process for process in self.processes.values() if process.data is not None)
        return next((process for process in found if process.held.member_id == member_id), None)

    def connected_for(self, one: Process, other: Process) -> float | None:
        """Return for how many seconds two members have been connected, or None if they are not."""
        since = self._connected.get(frozenset((one.name, other.name)))
        return None if since is None else self.clock() - since

    def settle(self) -> None:
        """Let everything happen that follows by itself, until nothing more does."""
        clusters = {process.held.cluster_id for process in self._alive()}
        for cluster_id in sorted(clusters):
            while self._settle_cluster(cluster_id):
                pass
        self._note_connections()

    # How a process comes to its data.

    def _found(self, process: Process, cluster: Mapping[str, str], token: str) -> Data | Exit:
        if cluster.get(process.name) != process.peer_url:
            return Exit.NOT_LISTED
        ids = identity.bootstrap(cluster, token=token)
        own = ids.member_ids[process.name]
        for peer in self._peers(process, cluster):
            known = peer.held.state.members.get(own)
            if known is not None and known.client_urls:
                return Exit.ALREADY_BOOTSTRAPPED
        members = {
            ids.member_ids[name]: Member(id=ids.member_ids[name], name=name, peer_urls=(url,))
            for name, url in cluster.items()
        }
        return Data(ids.cluster_id, own, State(term=1, index=len(members), members=members))

    def _join(self, process: Process, cluster: Mapping[str, str]) -> Data | Exit:
        if cluster.get(process.name) != process.peer_url:
            return Exit.NOT_LISTED
        peer = next(self._peers(process, cluster), None)
        if peer is None:
            return Exit.NO_PEERS
        remote = peer.held.state.members.values()
        if len(remote) != len(cluster):
            return Exit.COUNT_UNEQUAL
        own = next((member for member in remote if process.peer_url in member.peer_urls), None)
        if own is None or {url for member in remote for url in member.peer_urls} != set(cluster.values()):
            return Exit.URLS_UNEQUAL
        if own.id in self._had_data:
            return Exit.LOST_LOG
        return Data(peer.held.cluster_id, own.id, _EMPTY)

    def _peers(self, process: Process, cluster: Mapping[str, str]) -> Iterator[Process]:
        if process.cut:
            return
        for peer in self._alive():
            if peer is not process and not peer.cut and peer.peer_url in cluster.values():
                yield peer

    # What follows by itself.

    def _settle_cluster(self, cluster_id: int) -> bool:
        before = [(process.held.state, process.joined) for process in self._alive()]
        group = list(self._together(cluster_id))
        leader = self._leaders.pop(cluster_id, None)
        if leader not in group or not self._electable(leader, group):
            leader = self._elect(group)
        if leader is not None:
            self._leaders[cluster_id] = leader
            self._replicate(leader, group)
        for process in self._alive():
            if process.cut and process.held.cluster_id == cluster_id and self.leader(process):
                process.joined = True
        return before != [(process.held.state, process.joined) for process in self._alive()]

    def _elect(self, group: Iterable[Process]) -> Process | None:
        group = list(group)
        candidates = [process for process in group if self._electable(process, group)]
        if not candidates:
            return None
        best = max(candidates, key=lambda process: (process.held.state.age, -process.held.member_id))
        term = max(process.held.state.term for process in group) + 1
        self._append(best, replace(best.held.state, term=term))
        return best

    def _electable(self, candidate: Process | None, group: Iterable[Process]) -> bool:
        """Whether a quorum of voters that have no newer log is there to vote for it, and to follow it."""
        if candidate is None or candidate.data is None:
            return False
        state = candidate.data.state
        votes = {
            process.held.member_id
            for process in group
            if process.held.state.age <= state.age and not process.lagging
        }
        votes &= set(state.voters)
        return candidate.data.member_id in votes and len(votes) >= state.quorum

    def _replicate(self, leader: Process, group: Iterable[Process]) -> None:
        for process in group:
            data, state = process.held, leader.held.state
            if data.member_id in state.removed:
                process.running = process.joined = False
                process.exit = Exit.REMOVED
            elif data.member_id in state.members and (not process.lagging or process is leader):
                process.joined = True
                self._had_data.add(data.member_id)
                self._publish(leader, process)
                data.state = leader.held.state

    def _publish(self, leader: Process, process: Process) -> None:
        state, member_id = leader.held.state, process.held.member_id
        known = state.members[member_id]
        named = replace(known, name=process.name, client_urls=(process.client_url,))
        if named != known:
            self._append(leader, replace(state, members={**state.members, member_id: named}))

    def _append(self, leader: Process | None, state: State) -> None:
        if leader is not None:
            leader.held.state = replace(state, index=state.index + 1)

    def _note_connections(self) -> None:
        now = self.clock()
        pairs = {
            frozenset((one.name, other.name))
            for one in self._alive()
            for other in self.group(one)
            if one is not other
        }
        self._connected = {pair: self._connected.get(pair, now) for pair in pairs}

    def _alive(self) -> list[Process]:
        return [process for process in self.processes.values() if process.running]

    def _together(self, cluster_id: int) -> Iterator[Process]:
        return (
            process for process in self._alive() if not process.cut and process.held.cluster_id == cluster_id
        )
