"""Faults, each with its undo: `with faults.cut_node(cluster, "node2"): ...`.

An undo restores what was, as far as it is still there: what ended meanwhile stays ended. Where Kubernetes
itself is the undo there is none: a container that was killed is started again by its kubelet.
"""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address

from tests.cluster import links
from tests.cluster.cluster import Cluster
from tests.cluster.controlplane import NAME as CONTROL_PLANE
from tests.cluster.errors import HarnessError
from tests.cluster.machine import Machine
from tests.cluster.pods import Pod
from tests.cluster.processes import Process
from tests.cluster.waiting import wait_until

_API_SERVER = "kube-apiserver"


@contextmanager
def stop_node(cluster: Cluster, node: str) -> Iterator[None]:
    """Cut a node's power: the kubelet and all containers are gone at once. Undo: it starts, on its disk."""
    cluster.stop_node(node)
    try:
        yield
    finally:
        cluster.start_node(node)


@contextmanager
def cut_node(cluster: Cluster, node: str) -> Iterator[None]:
    """Pull a node's plug; what runs on it goes on, alone."""
    machine = cluster.machine(node)
    links.pull(cluster.switch, machine)
    try:
        yield
    finally:
        if machine.pid is not None:
            links.plug(cluster.switch, machine)


@contextmanager
def cut_pod(
    cluster: Cluster, namespace: str, name: str, *, peer: IPv4Address | None = None
) -> Iterator[None]:
    """Cut a Pod off from everything, or only from `peer` (another Pod, or the control plane's address).

    Its own kubelet's probes are lost only in the first case.
    """
    pod = cluster.pod(namespace, name)
    machine, address = cluster.machine(pod.node), IPv4Address(pod.address)
    links.drop(machine, address, peer)
    try:
        yield
    finally:
        links.undrop(machine, address, peer)


@contextmanager
def freeze(pids: Iterable[int]) -> Iterator[None]:
    """Stop processes (SIGSTOP) in the middle of whatever they do. Undo: they go on as if nothing had been."""
    frozen = [process for pid in pids if (process := Process.of(pid))]
    for process in frozen:
        process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in frozen:
            process.signal(signal.SIGCONT)


@contextmanager
def freeze_container(cluster: Cluster, namespace: str, pod: str, container: str = "") -> Iterator[None]:
    """Freeze all processes of a Pod's container, by default its first."""
    with freeze(cluster.container_processes(cluster.pod(namespace, pod), container)):
        yield


@contextmanager
def freeze_program(cluster: Cluster, machine: str, program: str) -> Iterator[None]:
    """Freeze a program of Kubernetes, such as the `kubelet` of `node1`."""
    pid = cluster.machine(machine).find(program)
    if pid is None:
        raise HarnessError(f"{program} doesn't run on {machine}")
    with freeze([pid]):
        yield


@contextmanager
def stop_apiserver(cluster: Cluster) -> Iterator[None]:
    """Kill the API server. Undo: it starts again, and is ready."""
    _kill(cluster.machine(CONTROL_PLANE), _API_SERVER)
    try:
        yield
    finally:
        cluster.control_plane.start_api_server()
        cluster.control_plane.wait_ready()


def restart_apiserver(cluster: Cluster) -> None:
    """Kill the API server and start it again; return when it is ready."""
    with stop_apiserver(cluster):
        pass


def kill_container(cluster: Cluster, namespace: str, pod: str, container: str = "") -> None:
    """SIGKILL the main process of a Pod's container (by default its first); its kubelet starts it again."""
    _crash(cluster, cluster.pod(namespace, pod), container)


def crash(cluster: Cluster, namespace: str, selector: str) -> list[str]:
    """SIGKILL the main process in every Pod with these labels, such as those of the operator; their names.

    Raises HarnessError if there is none.
    """
    pods = cluster.pods(namespace, selector)
    if not pods:
        raise HarnessError(f"There is no Pod with {selector} in {namespace}")
    for pod in pods:
        _crash(cluster, pod, "")
    return [pod.name for pod in pods]


def _crash(cluster: Cluster, pod: Pod, container: str) -> None:
    _end(cluster.container_processes(pod, container)[0], what=f"the container of {pod.name}")


def _kill(machine: Machine, program: str) -> None:
    pid = machine.find(program)
    if pid is not None:
        _end(pid, what=program)


def _end(pid: int, *, what: str) -> None:
    process = Process.of(pid)
    if process is not None:
        process.signal(signal.SIGKILL)
        wait_until(lambda: not process.alive, timeout=10, what=f"the end of {what}", every=0.01)
