"""The wires between machines and to the host.

All machines hang on a bridge in a namespace of its own (the switch), so that no firewall of the host sees
what they say to each other. Of the host's own network only one link is touched, `ketcd<number>`, and the
routes over it; both disappear with the switch's namespace.
"""

import json
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from tests.cluster.addresses import Addresses
from tests.cluster.machine import Machine, checked
from tests.cluster.waiting import wait_until

PREFIX = "ketcd"
_BRIDGE = "switch"


def host_link(addresses: Addresses) -> str:
    return f"{PREFIX}{addresses.number}"


def taken(addresses: Addresses) -> bool:
    """Whether the host has a route that these ranges would hide, or already has the link."""
    routes = json.loads(checked(["ip", "-json", "-4", "route", "show", "table", "all"]))
    return any(
        route.get("dev") == host_link(addresses)
        or addresses.overlaps(IPv4Network(route["dst"], strict=False))
        for route in routes
        if route["dst"] != "default"
    )


def connect_host(switch: Machine, addresses: Addresses, nodes: int) -> None:
    """Set up the bridge, and the host's way to the machines, the Pods and the Services."""
    filtering = "/proc/sys/net/bridge/bridge-nf-call-iptables"
    switch.run("sh", "-c", f"if [ -e {filtering} ]; then echo 0 >{filtering}; fi")
    _batch(switch, f"link add {_BRIDGE} type bridge", f"link set {_BRIDGE} up")
    link = host_link(addresses)
    checked(["ip", "link", "add", link, "type", "veth", "peer", "name", "host", "netns", str(switch.pid)])
    _batch(switch, f"link set host master {_BRIDGE} up")
    commands = (
        f"address add {addresses.host}/{addresses.machines.prefixlen} dev {link}",
        f"link set {link} up",
        *_routes(addresses, nodes),
        f"route add {addresses.services} via {addresses.control_plane}",
    )
    checked(["ip", "-batch", "-"], text="\n".join(commands))


def connect(
    switch: Machine, machine: Machine, addresses: Addresses, address: IPv4Address, nodes: int
) -> None:
    """Plug a machine in; it reaches the host, the other machines and all Pods, and nothing else."""
    wait_until(lambda: not plugged(switch, machine), timeout=10, what=f"the old link of {machine.name} to go")
    _batch(
        switch,
        f"link add {machine.name} type veth peer name eth0 netns {machine.pid}",
        f"link set {machine.name} master {_BRIDGE} up",
    )
    _batch(
        machine,
        f"address add {address}/{addresses.machines.prefixlen} dev eth0",
        "link set eth0 up",
        f"route add default via {addresses.host}",
        *_routes(addresses, nodes, besides=address),
    )


def plugged(switch: Machine, machine: Machine) -> bool:
    links = json.loads(switch.network("ip", "-json", "link", "show"))
    return any(link["ifname"] == machine.name for link in links)


def pull(switch: Machine, machine: Machine) -> None:
    """Pull the machine's plug; what it has set up on its side stays."""
    _batch(switch, f"link set {machine.name} down")


def plug(switch: Machine, machine: Machine) -> None:
    """Put the plug in again."""
    _batch(switch, f"link set {machine.name} up")


def drop(machine: Machine, address: IPv4Address, peer: IPv4Address | None = None) -> None:
    """Lose every packet between a Pod of this machine and all others, or just one other machine or Pod.

    Connections that stand are cut too. A Service's address is not a peer, what is behind it is.
    """
    table = _table(address, peer)
    rules: tuple[str, ...]
    if peer is None:
        rules = (
            f"add chain ip {table} from {{ type filter hook prerouting priority -310; }}",
            f"add chain ip {table} to {{ type filter hook postrouting priority 310; }}",
            f"add rule ip {table} from ip saddr {address} drop",
            f"add rule ip {table} to ip daddr {address} drop",
        )
    else:
        rules = (
            f"add chain ip {table} between {{ type filter hook forward priority -310; }}",
            f"add rule ip {table} between ip saddr {address} ip daddr {peer} drop",
            f"add rule ip {table} between ip saddr {peer} ip daddr {address} drop",
        )
    machine.network("nft", "-f", "-", text="\n".join((f"add table ip {table}", *rules)))


def undrop(machine: Machine, address: IPv4Address, peer: IPv4Address | None = None) -> None:
    """Undo `drop`; a machine that was restarted since, or is off, knows nothing of it anyway."""
    if machine.pid is not None:
        table = _table(address, peer)
        machine.network("nft", "-f", "-", text=f"add table ip {table}\ndelete table ip {table}")


def _table(address: IPv4Address, peer: IPv4Address | None) -> str:
    return f"cut_{int(address):x}_{int(peer):x}" if peer else f"cut_{int(address):x}"


def _routes(addresses: Addresses, nodes: int, besides: IPv4Address | None = None) -> Iterator[str]:
    for position in range(1, nodes + 1):
        if (node := addresses.node(position)) != besides:
            yield f"route add {addresses.node_pods(position)} via {node}"


def _batch(machine: Machine, *commands: str) -> None:
    machine.network("ip", "-batch", "-", text="\n".join(commands) + "\n")
