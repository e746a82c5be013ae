"""The address ranges of a cluster: a function of its number, disjoint from those of every other number."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

LIMIT = 32
"""How many clusters have room beside each other."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """The ranges of cluster `number`, from 0 to `LIMIT` - 1."""

    number: int

    @property
    def machines(self) -> IPv4Network:
        """Of the host (.1), the control plane (.10) and the nodes (.11 and on)."""
        return IPv4Network(f"10.10.{self.number}.0/24")

    @property
    def pods(self) -> IPv4Network:
        return IPv4Network(f"10.{144 + self.number}.0.0/16")

    @property
    def services(self) -> IPv4Network:
        """The first cluster has the range that kubeadm gives, and so most documents show."""
        return IPv4Network(f"10.{96 + self.number}.0.0/16")

    @property
    def host(self) -> IPv4Address:
        return self.machines[1]

    @property
    def control_plane(self) -> IPv4Address:
        return self.machines[10]

    @property
    def api_service(self) -> IPv4Address:
        return self.services[1]

    @property
    def dns(self) -> IPv4Address:
        """Of the Service kube-dns."""
        return self.services[10]

    @property
    def api(self) -> str:
        """The URL of the API server, for the host and for every machine."""
        return f"https://{self.control_plane}:6443"

    def node(self, position: int) -> IPv4Address:
        """Of the node at `position`, counted from 1."""
        return self.machines[10 + position]

    def node_pods(self, position: int) -> IPv4Network:
        """Of the Pods on the node at `position`, counted from 1."""
        return IPv4Network(f"{self.pods[position * 256]}/24")

    def overlaps(self, network: IPv4Network) -> bool:
        return any(network.overlaps(own) for own in (self.machines, self.pods, self.services))
