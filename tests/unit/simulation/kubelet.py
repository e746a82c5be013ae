"""Kubelets, all in one: Pods become processes of the simulated etcd, and processes become readiness.

A container start resolves the Pod's annotations anew. A data folder belongs to a claim, or to the Pod for an
emptyDir, by uid: a new claim of the same name is empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.plan.starting import INITIAL_CLUSTER, INITIAL_STATE
from tests.unit.simulation.server import PODS

if TYPE_CHECKING:
    from app.etcd.fake import Process, SimulatedCluster
    from app.plan.observed import PodFacts
    from tests.unit.simulation.server import Server


@dataclass(slots=True)
class Kubelet:
    """Runs Pods.

    ``folders`` says whose data a process has: the uid of a claim or of a Pod. ``blocked`` are Pods that can't
    start, with what is said about it. ``room`` is for how many Pods there is room, ``failing`` how many more
    starts end the Pod, and ``crashing`` how many more end its container only.
    """

    server: Server
    etcd: SimulatedCluster
    persistent: bool
    folders: dict[str, str] = field(default_factory=dict)
    blocked: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    room: int | None = None
    failing: int = 0
    crashing: int = 0

    def step(self, name: str) -> None:
        """Bring one Pod a step further."""
        pod = self.server.pods.get(name)
        if pod is None:
            return
        process = self.etcd.processes.get(name)
        if pod.terminating:
            self._remove(pod)
        elif pod.terminal:
            return
        elif process is None or not process.running or not pod.running:
            self._start(pod)
        else:
            self.server.change_pod(name, ready=self._ready(process))

    def step_all(self) -> None:
        """Bring every Pod a step further."""
        for name in list(self.server.pods):
            self.step(name)

    def process_of(self, name: str) -> Process | None:
        """The process of a Pod, if it runs."""
        process = self.etcd.processes.get(name)
        return process if process is not None and process.running else None

    def at(self, address: str) -> Process | None:
        """The process that has an address now, if any."""
        return next(
            (self.process_of(pod.name) for pod in self.server.pods.values() if pod.ip == address), None
        )

    def kill(self, name: str) -> None:
        """End a container; its data stays, and it is started again later."""
        if self.process_of(name) is not None:
            self.etcd.stop(name)

    def evict(self, name: str) -> None:
        """Let a Pod end for good, as under pressure; with it goes an emptyDir."""
        self.kill(name)
        self.server.change_pod(name, phase="Failed", running=False, ready=False, trouble=("Evicted", "words"))
        if not self.persistent:
            self.wipe(name)

    def wipe(self, name: str) -> None:
        """Lose the data of a member."""
        self.kill(name)
        if name in self.etcd.processes:
            self.etcd.wipe(name)

    def lose_folders(self) -> None:
        """Let the data go whose claim or Pod is gone."""
        owners = self.server.volumes if self.persistent else self.server.pods
        for name, folder in list(self.folders.items()):
            if (name not in owners or owners[name].uid != folder) and self.process_of(name) is None:
                self.wipe(name)
                del self.folders[name]

    def _remove(self, pod: PodFacts) -> None:
        self.kill(pod.name)
        self.server.drop(PODS, pod.name)
        self.lose_folders()

    def _start(self, pod: PodFacts) -> None:
        owner = self.server.volumes.get(pod.name) if self.persistent else pod
        mounted = owner is not None and self.folders.get(pod.name) == owner.uid and pod.phase == "Running"
        if owner is None or (owner is not pod and owner.terminating and not mounted):
            self.server.change_pod(pod.name, running=False, ready=False)
            return  # the claim is not there (any more): the Pod waits
        if pod.name in self.blocked and self.process_of(pod.name) is None:
            self.server.change_pod(pod.name, running=False, ready=False, trouble=self.blocked[pod.name])
            return
        if self._keeps_from_starting(pod):
            return
        action = self.server.made_from[pod.uid]
        process = self.etcd.processes.get(pod.name)
        if process is None:
            process = self.etcd.create(pod.name, peer_url=action.peer_url)
        if not process.running:
            if self.folders.get(pod.name) != owner.uid:
                self.etcd.wipe(pod.name)
                self.folders[pod.name] = owner.uid
            told = action.annotations if pod.uid in self.server.fixed else pod.annotations
            listed = dict(entry.split("=", 1) for entry in told[INITIAL_CLUSTER].split(","))
            exit_ = self.etcd.start(pod.name, cluster=listed, state=told[INITIAL_STATE], token=action.token)
            if exit_ is not None:
                trouble = ("MemberCrashed", exit_.value)
                restarts = min(pod.restarts + 1, 9)
                self.server.change_pod(
                    pod.name,
                    running=False,
                    ready=False,
                    started=True,
                    restarts=restarts,
                    trouble=trouble,
                    last_words=exit_.value,
                )
                return
        self.server.change_pod(
            pod.name,
            phase="Running",
            running=True,
            started=True,
            ready=self._ready(process),
            ip=pod.ip or self._address(),
            trouble=None,
        )

    def _keeps_from_starting(self, pod: PodFacts) -> bool:
        """Whether a Pod that is not running can't be or ends at once; says so of it."""
        if self.process_of(pod.name) is not None:
            return False
        taken = sum(other.started and not other.terminal for other in self.server.pods.values())
        if self.room is not None and not pod.started and taken >= self.room:
            words = ("MemberUnschedulable", "0/1 nodes are available: anti-affinity rules")
            self.server.change_pod(pod.name, trouble=words)
        elif self.failing:
            self.failing -= 1
            self.server.change_pod(pod.name, phase="Failed", started=True, trouble=("Evicted", "words"))
        elif self.crashing:
            self.crashing -= 1
            trouble = ("MemberCrashed", "words")
            self.server.change_pod(
                pod.name, phase="Running", started=True, restarts=pod.restarts + 1, trouble=trouble
            )
        else:
            return False
        return True

    def _address(self) -> str:
        """The first address that is free: addresses are used again."""
        taken = {pod.ip for pod in self.server.pods.values()}
        return next(ip for ip in (f"10.0.0.{last}" for last in range(1, 99)) if ip not in taken)

    def _ready(self, process: Process) -> bool:
        """What /readyz says: a linearizable read, which a learner refuses."""
        leader = self.etcd.leader(process)
        if not process.joined or leader is None or process.lagging:
            return False
        found = leader.held.state.members.get(process.held.member_id)
        return found is not None and not found.is_learner
