"""Faults inflicted on a cluster, as they were drawn, each undone whatever happens.

A fault whose victim is not there at the moment (its node is off, it restarts) is left out. An undo is tried
until it has worked: nothing may stay broken.
"""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address

from bench.chaos.schedule import Fault, Planned
from tests.cluster import faults
from tests.cluster.errors import HarnessError
from tests.cluster.progress import say
from tests.cluster.waiting import wait_until
from tests.e2e.installation import SELECTOR, Installation
from tests.e2e.subject import Subject

SIZES = (3, 5)
UNDO_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Inflicted:
    """What was done, to whom, and when it was undone, in monotonic seconds; ``left_out``: why it was not."""

    fault: Fault
    victims: str
    begun: float
    ended: float
    left_out: str = ""


class Tormentor:
    """Carries out the lanes of a schedule on one cluster."""

    def __init__(self, subject: Subject, operator: Installation) -> None:
        self._subject = subject
        self._operator = operator
        self._cluster = subject.cluster
        self._enough = threading.Event()
        self._wiping = threading.Lock()
        self.log: list[Inflicted] = []
        self.broken: list[str] = []
        """Undos that did not work; such a run says nothing about the operator."""

    def run(self, lanes: Mapping[str, Sequence[Planned]], *, seconds: float) -> None:
        """Inflict what is planned for so long; returns when everything is undone."""
        threads = [
            threading.Thread(target=self._lane, args=(planned,), name=lane) for lane, planned in lanes.items()
        ]
        for thread in threads:
            thread.start()
        self._enough.wait(seconds)
        self._enough.set()
        for thread in threads:
            thread.join()

    def _lane(self, planned: Sequence[Planned]) -> None:
        for one in planned:
            if self._enough.wait(one.pause):
                return
            self._inflict(one)

    def _inflict(self, planned: Planned) -> None:
        begun, victims, why = time.monotonic(), "", ""
        undo = ExitStack()
        try:
            victims = self._begin(planned, undo)
            say(f"  {planned.fault}: {victims}")
            self._enough.wait(planned.hold)
        except HarnessError as error:
            why = str(error).partition("\n")[0]
        finally:
            try:
                undo.close()
            except HarnessError as error:
                self.broken.append(f"{planned.fault}: {error}")
        self.log.append(Inflicted(planned.fault, victims, begun, time.monotonic(), why))

    def _begin(self, planned: Planned, undo: ExitStack) -> str:
        """Inflict one fault; whom it hit. Raises HarnessError where there is nobody to hit."""
        match planned.fault:
            case Fault.STOP_NODE | Fault.STOP_ALL_NODES | Fault.CUT_NODE | Fault.FREEZE_KUBELET:
                return self._hit_machine(planned, undo)
            case Fault.RESTART_API_SERVER | Fault.RESIZE:
                return self._hit_kubernetes(planned, undo)
            case Fault.CRASH_OPERATOR | Fault.FREEZE_OPERATOR | Fault.CUT_OPERATOR:
                return self._hit_operator(planned, undo)
            case _:
                return self._hit_member(planned, undo)

    def _hit_machine(self, planned: Planned, undo: ExitStack) -> str:
        nodes = self._cluster.nodes
        node = nodes[planned.choice % len(nodes)]
        match planned.fault:
            case Fault.STOP_ALL_NODES:
                for one in nodes:
                    undo.enter_context(_stopped(self._cluster.stop_node, self._cluster.start_node, one))
                return ", ".join(nodes)
            case Fault.STOP_NODE:
                undo.enter_context(_stopped(self._cluster.stop_node, self._cluster.start_node, node))
            case Fault.CUT_NODE:
                undo.enter_context(faults.cut_node(self._cluster, node))
            case _:
                undo.enter_context(faults.freeze_program(self._cluster, node, "kubelet"))
        return node

    def _hit_member(self, planned: Planned, undo: ExitStack) -> str:
        subject = self._subject
        pods = sorted(subject.pods())
        if not pods:
            raise HarnessError("There is no Pod")
        place = planned.choice % len(pods)
        member, other = pods[place], pods[(place + 1) % len(pods)]
        match planned.fault:
            case Fault.DELETE_POD:
                subject.kubectl("delete", "pod", "--wait=false", member)
            case Fault.FORGET_POD:
                subject.kubectl("delete", "pod", "--wait=false", "--force", "--grace-period=0", member)
            case Fault.DELETE_TWO_PODS:
                subject.kubectl("delete", "pod", "--wait=false", "--grace-period=1", member, other)
                return f"{member}, {other}"
            case Fault.KILL_MEMBER:
                faults.kill_container(self._cluster, subject.namespace, member)
            case Fault.FREEZE_MEMBER:
                undo.enter_context(faults.freeze_container(self._cluster, subject.namespace, member))
            case Fault.CUT_POD:
                undo.enter_context(faults.cut_pod(self._cluster, subject.namespace, member))
            case Fault.PART_PODS:
                peer = IPv4Address(self._address(other))
                undo.enter_context(faults.cut_pod(self._cluster, subject.namespace, member, peer=peer))
                return f"{member}, {other}"
            case Fault.UNLABEL_POD:
                subject.kubectl("label", "pod", member, "app-", "etcd_cluster-", "etcd_node-")
            case _:
                self._wipe(member)
        return member

    def _address(self, member: str) -> str:
        address = self._cluster.pod(self._subject.namespace, member).address
        if not address:
            raise HarnessError(f"{member} has no address")
        return address

    def _wipe(self, member: str) -> None:
        """Lose one member's data, only while every member has all of it: a second loss would be final."""
        if not self._subject.ready():
            raise HarnessError("A member may lack data already")
        pod = self._cluster.pod(self._subject.namespace, member)
        disk = self._cluster.machine(pod.node).disk
        folder = next(disk.glob(f"volumes/*_{member}/data"), None)
        if folder is None:
            raise HarnessError(f"{member} has no data on {pod.node}")
        shutil.rmtree(folder, ignore_errors=True)
        faults.kill_container(self._cluster, self._subject.namespace, member)

    def _hit_kubernetes(self, planned: Planned, undo: ExitStack) -> str:
        if planned.fault is Fault.RESIZE:
            size = SIZES[planned.choice % len(SIZES)]
            self._subject.patch(size=size)
            return str(size)
        undo.enter_context(faults.stop_apiserver(self._cluster))
        return "kube-apiserver"

    def _hit_operator(self, planned: Planned, undo: ExitStack) -> str:
        operator = self._operator
        if planned.fault is Fault.CRASH_OPERATOR:
            crashed = faults.crash(self._cluster, operator.namespace, SELECTOR)
            # In the same Pod a kubelet would start it after ever longer waits, minutes in the end.
            undo.callback(self._renew, crashed)
            return ", ".join(crashed)
        leader = operator.leader()
        if not leader:
            raise HarnessError("Nobody leads")
        if planned.fault is Fault.FREEZE_OPERATOR:
            undo.enter_context(faults.freeze_container(self._cluster, operator.namespace, leader))
        else:
            peer = self._cluster.addresses.control_plane
            undo.enter_context(faults.cut_pod(self._cluster, operator.namespace, leader, peer=peer))
        return leader

    def _renew(self, pods: Sequence[str]) -> None:
        def deleted() -> bool:
            self._operator.kubectl("delete", "pod", "--wait=false", "--ignore-not-found", *pods)
            return True

        wait_until(deleted, timeout=UNDO_SECONDS, what="new Pods of the operator")


@contextmanager
def _stopped(stop: Callable[[str], None], start: Callable[[str], None], node: str) -> Iterator[None]:
    """Stop a node; start it until it is up, also where another fault is in the way of that."""
    stop(node)
    try:
        yield
    finally:

        def started() -> bool:
            try:
                start(node)
            except HarnessError as error:
                stop(node)
                raise HarnessError(str(error)) from error  # also what ended by itself is started again
            return True

        wait_until(started, timeout=UNDO_SECONDS, what=f"{node} to start")
