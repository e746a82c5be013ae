"""The parts of a cluster by their names: which machines there are, and where each is plugged in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from tests.cluster import controlplane, links
from tests.cluster.addresses import Addresses
from tests.cluster.cgroups import Group
from tests.cluster.controlplane import ControlPlane
from tests.cluster.errors import HarnessError
from tests.cluster.machine import Machine
from tests.cluster.node import Node
from tests.cluster.state import Record
from tests.cluster.waiting import wait_until

_SWITCH = "switch"
_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Layout:
    """The parts of the cluster with this record, cgroup and folder, made of these programs."""

    record: Record
    group: Group
    folder: Path
    programs: Mapping[str, Path]

    @property
    def addresses(self) -> Addresses:
        return Addresses(self.record.number)

    @cached_property
    def switch(self) -> Machine:
        """What all the others are plugged into."""
        return self._machine(_SWITCH)

    @cached_property
    def control_plane(self) -> ControlPlane:
        return ControlPlane(self._machine(controlplane.NAME), self.addresses, self.programs, self.folder)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(
            Node(position, self._machine(f"node{position}"), self.addresses, self.programs)
            for position in range(1, self.record.nodes + 1)
        )

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise HarnessError(
            f"There is no node {name}; there are: {', '.join(node.name for node in self.nodes)}"
        )

    def boot_switch(self) -> None:
        """Boot the switch, and connect the host to it."""
        self.switch.boot()
        links.connect_host(self.switch, self.addresses, self.record.nodes)

    def boot(self, machine: Machine, address: IPv4Address) -> None:
        """Boot a machine and plug it in."""
        machine.boot()
        links.connect(self.switch, machine, self.addresses, address, self.record.nodes)

    def wait_nodes_ready(
        self,
        nodes: Sequence[Node],
        *,
        timeout: float = 60,
        since: datetime = _EVER,
    ) -> None:
        """Wait until these nodes have said, after `since`, that they are ready.

        Raises:
            HarnessError: one hasn't within `timeout` seconds, or a program of it ended.

        """
        wanted = {node.name for node in nodes}

        def ready() -> bool:
            for node in nodes:
                node.check()
            found = {
                str(item["metadata"]["name"])
                for item in self.control_plane.list("/api/v1/nodes")
                if _ready_since(item, since)
            }
            if missing := sorted(wanted - found):
                raise HarnessError(f"not yet: {', '.join(missing)}")
            return True

        if wanted:
            wait_until(ready, timeout=timeout, what="the nodes to become ready")

    def _machine(self, name: str) -> Machine:
        return Machine(name, self.group.child(name), self.folder / name)


def _ready_since(node: dict[str, Any], since: datetime) -> bool:
    seconds = since.replace(microsecond=0)  # as a heartbeat's time is
    return any(
        condition["type"] == "Ready"
        and condition["status"] == "True"
        and datetime.fromisoformat(condition["lastHeartbeatTime"]) >= seconds
        for condition in node["status"].get("conditions", ())
    ) and not any(taint.get("effect") == "NoSchedule" for taint in node["spec"].get("taints", ()))
