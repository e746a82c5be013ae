"""A cluster: a control plane, nodes and what connects them, from `up` to `down`."""

import os
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn, Self
from urllib.parse import urlencode

from tests.cluster import audit, binaries, controlplane, interrupts, node, preflight, state
from tests.cluster.addresses import Addresses
from tests.cluster.assembly import assemble
from tests.cluster.controlplane import ControlPlane
from tests.cluster.errors import HarnessError
from tests.cluster.images import BUSYBOX, PAUSE, ensure_image
from tests.cluster.layout import Layout
from tests.cluster.machine import Machine, checked
from tests.cluster.node import Node
from tests.cluster.pods import Pod, decode_list
from tests.cluster.processes import Process, process_1_first
from tests.cluster.progress import say

BASE_IMAGES = (PAUSE, BUSYBOX)
"""What every node has: what holds a Pod's namespaces, and a shell, which the volumes need too."""


class Cluster:
    """The cluster `name`, whether it is up or not; all but `up`, `down` and `exists` need it to be."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._state = state.State(name)

    # Its life.

    def up(self, nodes: int = 3, *, images: Sequence[Path] = (), owner: Process | None = None) -> Self:
        """Bring it up with `nodes` nodes, or without any as a mere control plane.

        `images` are OCI archives that each node has from its start. A cluster that is up with as many nodes
        stays and gets the images; whatever else is left of one by this name is replaced. `owner` is a process
        without which it is of no use, see `down_abandoned`. If this fails or is interrupted, nothing is left.

        Raises:
            HarnessError: this machine doesn't allow it, or something didn't start (with the end of its log).

        """
        programs = preflight.check(nodes)
        archives = [*(ensure_image(name) for name in BASE_IMAGES), *images] if nodes else []
        with self._state.locked():
            if self._healthy(nodes):
                self._load(images)
                return self
            self._state.clear()
            begun = time.monotonic()
            pool = ThreadPoolExecutor(max_workers=2 * nodes + 4)
            try:
                record, group = self._state.claim(nodes, owner)
                assemble(Layout(record, group, self._state.folder, programs), archives, pool)
            except BaseException:
                with interrupts.ignored():
                    # First what the threads wait for, so that they end; then what they started meanwhile.
                    if left := self._state.group():
                        left.kill()
                    pool.shutdown(cancel_futures=True)
                    self._state.remove()
                raise
            pool.shutdown()
            say(f"The cluster {self.name} is up after {time.monotonic() - begun:.1f} s")
        return self

    def down(self) -> None:
        """Take it down, in whatever condition it is; nothing of it is left, its logs neither."""
        with self._state.locked(), interrupts.ignored():
            self._state.remove()

    @staticmethod
    def down_abandoned() -> None:
        """Take down all clusters whose owner has ended without doing so."""
        for name in state.names():
            record = state.State(name).read()
            if record and record.owner and not record.owner.alive:
                Cluster(name).down()

    @property
    def exists(self) -> bool:
        """Whether something of it runs."""
        group = self._state.group()
        return group is not None and bool(group.processes())

    @property
    def record(self) -> state.Record:
        record = self._state.read()
        if record is None or not self.exists:
            raise HarnessError(
                f"There is no cluster {self.name}: `python -m tests.cluster up --name {self.name}`"
            )
        return record

    # The way in.

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; it refers to no other file."""
        return self._layout.control_plane.kubeconfig

    def kubectl(self, *arguments: str, text: str = "", timeout: float = 120) -> str:
        """Run kubectl and return what it prints; `text` is its standard input.

        Raises:
            HarnessError: it failed, with what it said, or it took longer than `timeout` seconds.

        """
        program = binaries.find("kubectl")["kubectl"]
        command = (str(program), f"--kubeconfig={self.kubeconfig}", *arguments)
        return checked(command, text=text, timeout=timeout)

    def exec_kubectl(self, *arguments: str) -> NoReturn:
        """Become kubectl, with its terminal."""
        program = str(binaries.find("kubectl")["kubectl"])
        os.execve(program, ["kubectl", *arguments], os.environ | {"KUBECONFIG": str(self.kubeconfig)})

    def describe(self) -> str:
        """One line about it."""
        if not self.exists:
            return f"{self.name}: dead (`down` removes what is left)"
        record = self.record
        return f"{self.name}: {record.nodes} nodes, {Addresses(record.number).api}, {self.kubeconfig}"

    @property
    def addresses(self) -> Addresses:
        return Addresses(self.record.number)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes' names."""
        return tuple(one.name for one in self._layout.nodes)

    def load_image(self, archive: Path) -> None:
        """Load an image (an OCI archive) on each node."""
        self._load([archive])

    def audit(self, user: str | None = None) -> list[audit.Event]:
        """What users and service accounts (or just one of them) asked of the API server."""
        return audit.read(self._layout.control_plane.machine.disk / controlplane.AUDIT_LOG, user=user)

    def log(self, machine: str, program: str) -> str:
        """What a program of Kubernetes has said so far, such as ("control-plane", "kube-apiserver")."""
        return self.machine(machine).log(program)

    # Its parts, for faults and for looking inside.

    @property
    def control_plane(self) -> ControlPlane:
        return self._layout.control_plane

    @property
    def switch(self) -> Machine:
        """What all machines are plugged into."""
        return self._layout.switch

    def node(self, name: str) -> Node:
        return self._layout.node(name)

    def machine(self, name: str) -> Machine:
        """A machine by its name: a node's, or `control-plane`."""
        return self.control_plane.machine if name == controlplane.NAME else self.node(name).machine

    def pod(self, namespace: str, name: str) -> Pod:
        """A Pod as it is now.

        Raises HarnessError if there is none, or if it isn't bound to a node.
        """
        return Pod.decode(self.control_plane.get(f"/api/v1/namespaces/{namespace}/pods/{name}"))

    def pods(self, namespace: str, selector: str) -> list[Pod]:
        """The Pods with these labels that are bound to a node."""
        query = urlencode({"labelSelector": selector})
        return decode_list(self.control_plane.get(f"/api/v1/namespaces/{namespace}/pods?{query}"))

    def container_processes(self, pod: Pod, container: str = "") -> tuple[int, ...]:
        """The processes of a Pod's container (by default its first) in the host's numbers, its own 1 first.

        Raises HarnessError if it has none, as while it restarts.
        """
        group = self.machine(pod.node).group.find(pod.container_id(container))
        processes = process_1_first(group.processes()) if group else ()
        if not processes:
            raise HarnessError(f"The Pod {pod.name} has no process in its container {container}".rstrip())
        return processes

    def stop_node(self, name: str) -> None:
        """Cut a node's power: all its processes are gone at once, its disk stays."""
        self.node(name).machine.kill()

    def start_node(self, name: str) -> None:
        """Start a node whose power was cut, and wait until it says that it is ready."""
        since = datetime.now(UTC)
        one = self.node(name)
        self._layout.boot(one.machine, one.address)
        one.start()
        one.join()
        self._layout.wait_nodes_ready([one], since=since)

    def _healthy(self, nodes: int) -> bool:
        record = self._state.read()
        if record is None or record.nodes != nodes or not self.exists:
            return False
        try:
            self._layout.control_plane.wait_ready(timeout=5)
            self._layout.wait_nodes_ready(self._layout.nodes, timeout=5)
        except HarnessError:
            return False
        return True

    def _load(self, archives: Iterable[Path]) -> None:
        wanted = list(archives)

        def load(one: Node) -> None:
            for archive in wanted:
                if not node.has_image(one.machine, archive):
                    node.import_image(one.machine, archive)

        nodes = self._layout.nodes
        with ThreadPoolExecutor(max_workers=max(1, len(nodes))) as pool:
            list(pool.map(load, nodes))

    @property
    def _layout(self) -> Layout:
        record = self.record
        group = self._state.group()
        if group is None:
            raise HarnessError(f"The cluster {self.name} went down")
        return Layout(record, group, self._state.folder, preflight.check(record.nodes))
