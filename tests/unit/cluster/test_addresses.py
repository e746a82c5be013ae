from ipaddress import IPv4Network
from itertools import combinations

import pytest

from tests.cluster.addresses import LIMIT, Addresses


def _ranges(addresses: Addresses) -> tuple[IPv4Network, ...]:
    return addresses.machines, addresses.pods, addresses.services


def test_no_two_clusters_share_a_range() -> None:
    ranges = [network for number in range(LIMIT) for network in _ranges(Addresses(number))]
    assert not [pair for pair in combinations(ranges, 2) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize("number", [0, LIMIT - 1])
def test_each_address_is_in_its_range(number: int) -> None:
    addresses = Addresses(number)
    machines = [addresses.host, addresses.control_plane, *map(addresses.node, range(1, 10))]
    assert len(set(machines)) == len(machines)
    assert all(machine in addresses.machines for machine in machines)
    assert addresses.dns in addresses.services
    assert addresses.api_service in addresses.services
    assert addresses.node_pods(3).subnet_of(addresses.pods)
    assert not addresses.node_pods(1).overlaps(addresses.node_pods(2))


def test_the_first_cluster_has_the_usual_name_server() -> None:
    assert str(Addresses(0).dns) == "10.96.0.10"


@pytest.mark.parametrize(
    ("network", "overlaps"),
    [("10.10.0.0/30", True), ("10.0.0.0/8", True), ("10.10.1.0/24", False), ("192.168.0.0/16", False)],
)
def test_overlaps(network: str, overlaps: bool) -> None:
    assert Addresses(0).overlaps(IPv4Network(network)) is overlaps
