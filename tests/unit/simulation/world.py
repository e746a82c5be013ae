"""The world of one cluster: API server, kubelets, etcd, leaders, clients, a clock; and all that can go wrong.

Everything that happens is an operation with two small numbers, which choose among what is possible at that
moment. So any sequence of operations is a walk, and one with some left out is a walk too: that is what
shrinking a counterexample needs.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.status import ClusterStatus
from app.etcd.errors import EtcdError
from app.etcd.fake import NoAnswerError, Process, SimulatedCluster, calls
from app.plan import gauges
from app.plan.actions import CreatePod
from app.plan.membership.changes import CALL_SECONDS
from app.plan.observed import Order
from app.plan.roster import roster
from app.plan.starting import CLUSTER_ID, EXISTING, INITIAL_CLUSTER, INITIAL_STATE, NEW, initial_cluster
from tests.unit.simulation.asking import Outcome
from tests.unit.simulation.checks import UNSCHEDULABLE, Checks, Truth, ViolationError, require, stored
from tests.unit.simulation.helpers import Hands
from tests.unit.simulation.kubelet import Kubelet
from tests.unit.simulation.replica import Replica, Turn
from tests.unit.simulation.server import KINDS, PODS, SERVICES, VOLUMES, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Operation = tuple[str, int, int]

WAITS = (0.1, 0.5, 1.0, 5.1, 5.1, 30.0, 310.0)
TURNS = 600
"""How many turns the operator has to settle everything after the last fault."""

QUIET = 12
"""After how many rounds in which nothing changes nothing will."""

SECONDS = 3600.0
"""And how much time: an unhealthy member is replaced after 300 s, and several may be, one by one."""


VERSION = "3.6.16"
WITHOUT_LEARNERS = "3.3.27"


def spec(size: int, *, persistent: bool, version: str = VERSION) -> ClusterSpec:
    """A spec of that size."""
    claim = {"resources": {"requests": {"storage": "1Gi"}}} if persistent else None
    return ClusterSpec.model_validate(
        {
            "size": size,
            "version": version,
            "repository": "r",
            "pod": {"persistentVolumeClaimSpec": claim} if claim else {},
        }
    )


class World:
    """A custom resource that has just been created, and everything around it."""

    def __init__(self, size: int, *, persistent: bool, version: str = VERSION) -> None:
        self.now = 0.0
        self.server = Server("c", spec(size, persistent=persistent, version=version))
        self.etcd = SimulatedCluster(lambda: self.now, version=version)
        self.kubelet = Kubelet(self.server, self.etcd, persistent)
        self.checks = Checks(self.server, self.kubelet, self.etcd)
        self.told: list[str] = []
        self.leader = self._replica()
        self.old: Replica | None = None
        self.old_until = 0.0

    @classmethod
    def of_old(cls, size: int, *, persistent: bool) -> World:
        """A cluster that the old operator left: members that serve, and Services."""
        world = cls(size, persistent=persistent)
        members = [f"c-old000000{index}" for index in range(size)]
        urls = {one: names.peer_url(one, cluster="c", namespace="ns") for one in members}
        flags = {INITIAL_CLUSTER: initial_cluster(urls), INITIAL_STATE: EXISTING}
        for one, url in urls.items():
            world.server.leave(CreatePod(one, url, flags, "old"), claim=persistent)
            owner = (world.server.volumes if persistent else world.server.pods)[one]
            world.kubelet.folders[one] = owner.uid
            world.etcd.create(one, peer_url=url)
            world.etcd.start(one, cluster=urls, state=NEW, token="old")
        for service in ("c", names.client_service("c")):
            world.server.ensure_service(service)
        for _ in range(2):
            world.kubelet.step_all()
        return world

    def apply(self, operation: Operation) -> None:
        """Let something happen, and check what must hold."""
        name, a, b = operation
        getattr(self, f"do_{name}")(a, b)
        self.kubelet.lose_folders()
        self.checks.always()

    # The operator.

    def do_call(self, a: int, b: int) -> None:
        """The leader makes its next call, which may be lost."""
        lost = {0: Outcome.LOST_BEFORE, 1: Outcome.LOST_AFTER, 2: Outcome.LATE}
        self.leader.step(a, lost.get(b, Outcome.ANSWERED))

    def do_turn(self, a: int, b: int) -> None:
        """The leader makes all calls of a turn, with fresh caches."""
        if self.leader.turn is None:
            self.leader.cache.catch_up()
            self.leader.step()
        while self.leader.turn is not None:
            self.leader.step(a)

    def do_watch(self, a: int, b: int) -> None:
        """Some events of a watch arrive."""
        self.leader.cache.read(KINDS[a % len(KINDS)], 1 + b)

    def do_takeover(self, a: int, b: int) -> None:
        """The leader crashes, or is slow to learn that it leads no more."""
        self.old = self.leader if b % 2 else None
        self.old_until = self.now + CALL_SECONDS
        self.leader = self._replica()

    def do_late(self, a: int, b: int) -> None:
        """A call that was lost, or that the old leader had decided on, takes effect."""
        self.leader.arrive()
        if self.old is not None:
            self.old.arrive()
        if self.old is not None and self.old.turn is not None and self.now < self.old_until:
            self.old.step(a)
        else:
            self.old = None

    # Kubernetes.

    def do_kubelet(self, a: int, b: int) -> None:
        """The kubelet of one Pod does something."""
        name = self._pick(self.server.pods, a)
        if name:
            self.kubelet.step(name)

    def do_kubelets(self, a: int, b: int) -> None:
        """All kubelets do something."""
        self.kubelet.step_all()

    def do_wait(self, a: int, b: int) -> None:
        """Time passes."""
        self.now += WAITS[a % len(WAITS)]

    # People and clients.

    def do_resize(self, a: int, b: int) -> None:
        """The user asks for another size."""
        self.server.edit(size=1 + a % 7)

    def do_pause(self, a: int, b: int) -> None:
        """The user pauses the operator, or lets it go on."""
        self.server.edit(paused=not self.server.custom.spec.paused)

    def do_forget(self, a: int, b: int) -> None:
        """The status is lost, but not the marks on the children of a quorum."""
        latch = self.server.custom.status.journal.latch
        children = self.server.volumes if self.kubelet.persistent else self.server.pods
        marked = [one for one in children.values() if CLUSTER_ID in one.annotations and not one.terminating]
        if latch is not None and len(marked) > len(latch.roster) // 2:
            self.server.forget()

    def do_put(self, a: int, b: int) -> None:
        """A client writes through the Service."""
        ready = [name for name, pod in self.server.pods.items() if pod.ready]
        process = self.kubelet.process_of(self._pick(ready, a))
        if process is None or names.client_service("c") not in self.server.objects[SERVICES]:
            return
        value = self.checks.acknowledged + 1
        with contextlib.suppress(EtcdError, NoAnswerError):
            calls.write(self.etcd, process, b"k", str(value).encode())
            self.checks.acknowledged = value

    # Faults.

    def do_delete_pod(self, a: int, b: int) -> None:
        """Somebody deletes a Pod, with an emptyDir its data too."""
        name = self._pick(self.server.pods, a)
        if name and (self.kubelet.persistent or self._may_lose(name, b)):
            self.server.terminate(PODS, name)

    def do_evict(self, a: int, b: int) -> None:
        """A Pod ends for good, and stays as an object."""
        name = self._pick(self.server.pods, a)
        if (
            name
            and not self.server.pods[name].terminal
            and (self.kubelet.persistent or self._may_lose(name, b))
        ):
            self.kubelet.evict(name)

    def do_kill(self, a: int, b: int) -> None:
        """A container ends."""
        self.kubelet.kill(self._pick(self.server.pods, a))

    def do_delete_volume(self, a: int, b: int) -> None:
        """Somebody deletes a claim, and perhaps its Pod."""
        name = self._pick(self.server.volumes, a)
        if name and self._may_lose(name, b):
            self.server.terminate(VOLUMES, name)
            if b % 2 and name in self.server.pods:
                self.server.terminate(PODS, name)

    def do_wipe(self, a: int, b: int) -> None:
        """The disk of a member comes back empty."""
        name = self._pick(self.server.pods, a)
        if name and self._may_lose(name, b):
            self.kubelet.wipe(name)

    def do_cut(self, a: int, b: int) -> None:
        """A member loses its peers, or finds them again."""
        process = self._process(a)
        if process is not None:
            self.etcd.connect(process.name, cut=not process.cut, lagging=process.lagging)

    def do_lag(self, a: int, b: int) -> None:
        """A learner is slow, or no more."""
        process = self._process(a)
        if process is not None and process.data is not None:
            own = process.held.state.members.get(process.held.member_id)
            if process.lagging or own is None or own.is_learner:
                self.etcd.connect(process.name, cut=process.cut, lagging=not process.lagging)

    def do_mislead(self, a: int, b: int) -> None:
        """A member takes a peer for lost, until one of them is started again."""
        process, peer = self._process(a), self._process(b)
        if process and peer and not any(each.mistaken for each in self.etcd.processes.values()):
            process.mistaken = peer.name

    def do_silence(self, a: int, b: int) -> None:
        """The operator can't reach a member, or can again."""
        process = self._process(a)
        if process is not None:
            process.dialable = not process.dialable

    def do_block(self, a: int, b: int) -> None:
        """A Pod can't start (again), and perhaps its scheduler says why."""
        name = self._pick(self.server.pods, a)
        if name:
            self.kubelet.blocked[name] = UNSCHEDULABLE if b % 2 else None

    def do_heal(self, a: int, b: int) -> None:
        """The network is well, and there is room for every Pod."""
        self.kubelet.blocked.clear()
        for process in self.etcd.processes.values():
            process.dialable = True
            self.etcd.connect(process.name)

    # Time.

    def turns(self, seconds: float, *, each: Callable[[], None] = lambda: None) -> None:
        """Let the operator work for so long, with all kubelets; ``each`` looks at what is so meanwhile."""
        until = self.now + seconds
        while self.now < until:
            self._round()
            each()
            self.now += max(0.1, self.leader.requeue_after)

    # In the end.

    def end(self) -> None:
        """The last fault is over: everything settles, and then nothing is written any more."""
        self.do_heal(0, 0)
        self.server.edit(paused=False)
        self.do_takeover(0, 0)
        self._forgive()
        if self.checks.doomed and not self._give_up():
            return
        self._converge()
        self.now += gauges.SECONDS + 1.0  # then values that change all the time may follow once more
        self._round()
        before = self.server.writes
        for _ in range(5):
            self.now += gauges.SECONDS + 1.0
            self._round()
        require(self.server.writes == before, "a settled cluster causes writes")
        written = ClusterStatus.model_validate(self.status.to_json())
        require(written == self.status, "the status is another one when it is read")

    def _give_up(self) -> bool:
        """What is lost for good is told with a way out, and the user takes it."""
        quiet = 0
        for _ in range(TURNS):
            before = (self.server.writes, self._fingerprint())
            self._round()
            if self.settled():
                return True  # enough of it was left after all
            quiet = quiet + 1 if before == (self.server.writes, self._fingerprint()) else 0
            if quiet > QUIET:
                break
            self.now += 31.0
        told = {one.type: one for one in self.status.conditions}
        available = told["Available"]
        require(available.status == "False", f"nothing is left and Available says {available}")
        incident = self.status.journal.incident
        require(incident is not None and bool(incident.token), f"there is no way out: {available}")
        token = incident.token if incident is not None else ""
        if f"found-anew={token}" in available.message:
            self.server.order = Order(anew=token)
            self.checks.given_up()
            return True
        require(f"force-new-cluster={token}" in available.message, f"no way out: {available}")
        idle = {name for name, pod in self.server.pods.items() if not pod.started}
        names = roster(self.status.journal)
        self.server.order = Order(token, frozenset(idle | (set(names) - self.server.pods.keys())))
        self.checks.resorted_to(self._last_log(names))
        return True

    def _last_log(self, names: tuple[str, ...]) -> int:
        """What the member has stored whose log is the last of those that are there."""
        folders = self.kubelet.folders
        there = [name for name in names if name in self.server.volumes]
        kept = [name for name in there if folders.get(name) == self.server.volumes[name].uid]
        logs = [one.data.state for name in kept if (one := self.etcd.processes[name]).data is not None]
        return stored(max(logs, key=lambda state: state.age)) if logs else 0

    def _forgive(self) -> None:
        """What ends now was still a member's data when the fault that ends it was let through."""
        children = self.server.volumes if self.kubelet.persistent else self.server.pods
        going = {name for name, child in children.items() if child.terminating}
        self.checks.doomed = self.checks.doomed or self.checks.about_to_lose(going)

    def _converge(self) -> None:
        limit = self.now + SECONDS
        for _ in range(TURNS):
            before = (self.server.writes, self._fingerprint())
            self._round()
            if self.settled():
                return
            still = before == (self.server.writes, self._fingerprint())
            self.now += 31.0 if still else max(0.1, self.leader.requeue_after)
            if self.now > limit:
                break
        conditions = {one.type: f"{one.status} {one.reason} {one.message}" for one in self.status.conditions}
        raise ViolationError(f"does not settle: {conditions}")

    def settled(self) -> bool:
        """Whether everything is as the spec asks for, in truth and in the status."""
        size = self.server.custom.spec.size
        truth = Truth.of(self.etcd)
        status = self.status
        return (
            truth.state is not None
            and len(truth.state.voters) == len(truth.state.members) == len(truth.healthy) == size
            and self.server.pods.keys() == truth.names
            and (not self.kubelet.persistent or self.server.volumes.keys() == truth.names)
            and any(one.type == "Ready" and one.status == "True" for one in status.conditions)
            and status.journal.intent is None
            and self.leader.turn is None
        )

    def _round(self) -> None:
        self.kubelet.step_all()
        Hands(self.server, self.kubelet).step_all()
        self.do_turn(0, 0)
        self.kubelet.lose_folders()
        self.checks.always()

    @property
    def status(self) -> ClusterStatus:
        """What the custom resource says."""
        return self.server.custom.status

    def condition(self, kind: str) -> tuple[str, str, str]:
        """The status, the reason and the message of a condition."""
        found = next(one for one in self.status.conditions if one.type == kind)
        return found.status, found.reason, found.message

    def _fingerprint(self) -> tuple[object, ...]:
        return tuple(len(log) for log in self.server.log.values())

    # Choices.

    def _replica(self) -> Replica:
        def decided(replica: Replica, turn: Turn) -> None:
            self.checks.decided(turn)
            self.told.extend(event.reason for event in turn.decision.events)

        return Replica(
            self.server, self.kubelet, lambda: self.now, decided=decided, acting=self.checks.acting
        )

    def _pick(self, among: Mapping[str, object] | Sequence[str], index: int) -> str:
        found = sorted(among)
        return found[index % len(found)] if found else ""

    def _process(self, index: int) -> Process | None:
        name = self._pick(self.etcd.processes, index)
        return self.etcd.processes.get(name)

    def _may_lose(self, name: str, chance: int) -> bool:
        """Whether a member may lose its data now: seldom where that is the end of the cluster."""
        if self.server.custom.status.journal.bootstrap is None:
            return False  # with the status and all children lost, nobody could know that there was a cluster
        going = {each for each, pod in self.server.pods.items() if pod.terminating} | {name}
        if self.kubelet.persistent:
            going = {each for each, claim in self.server.volumes.items() if claim.terminating} | {name}
        if not self.checks.about_to_lose(going):
            return True
        if chance != 7:
            return False
        self.checks.doomed = True
        return True
