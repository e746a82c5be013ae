"""How real members start with the arguments and variables that we give them."""

from __future__ import annotations

import asyncio
import signal
import socket
from functools import partial
from typing import TYPE_CHECKING

import pytest

from app.etcd import flags
from app.etcd.endpoint import Endpoint
from app.etcd.identity import bootstrap
from app.etcd.probe import MetricsPort
from app.etcd.version import parse
from tests.integration.etcd.local import DEADLINE, PATIENCE, TOKEN, LocalCluster, eventually
from tests.integration.etcd.processes import LOOPBACK

if TYPE_CHECKING:
    from app.etcd.client import Dialer
    from tests.integration.etcd.processes import Process

pytestmark = pytest.mark.integration


def urls(cluster: LocalCluster) -> dict[str, str]:
    return {name: process.peer_url for name, process in cluster.members.items()}


async def test_every_setting_of_ours_is_known_to_the_version(cluster: LocalCluster) -> None:
    await cluster.found(1)
    log = cluster.members["m0"].log
    fed = flags.environment(cluster.version, cluster=urls(cluster), state="new", token=TOKEN)
    for name, value in fed.items():
        used = f'"variable-name":"{name}"' in log or f"used environment variable {name}={value}" in log
        assert used == bool(value)
        unknown = f'"environment-variable":"{name}=' in log or f"environment variable {name}=\n" in log
        assert unknown == (not value), "etcd warns of an empty variable and goes on"


async def test_the_corruption_checks_are_on(cluster: LocalCluster) -> None:
    experimental = "experimental-" if parse(cluster.version) < (3, 6) else ""
    cluster.settings = {f"{experimental}compact-hash-check-time": "1s"}
    await cluster.found(1)
    process = cluster.members["m0"]
    process.stop()
    process.start(
        cluster=urls(cluster), state="existing", token=TOKEN
    )  # an empty member has nothing to check
    await cluster.serving("m0")
    on = parse(cluster.version) >= (3, 5)
    assert ("starting initial corruption check" in process.log) == on

    async def checked() -> bool:
        return "starting compact hash check" in process.log

    if on:
        await eventually(checked, bool)


async def test_a_variable_collides_with_a_flag_even_when_it_is_empty(cluster: LocalCluster) -> None:
    process = cluster.make("m0")
    process.extra = ("--initial-cluster-token=flag",)
    process.start(cluster=urls(cluster), token="")
    assert await process.exited(within=PATIENCE) == 1
    assert "conflicting environment variable" in process.log


async def test_H9_a_member_is_reached_over_both_families_on_every_port(
    cluster: LocalCluster, dialer: Dialer
) -> None:
    """One wildcard is listened on in Pods of either family, and an address of ours gets its brackets."""
    if not _has_ipv6():
        pytest.skip("this machine has no IPv6 on loopback")
    process = cluster.make("m0")
    process.wildcard = True
    process.start(cluster=urls(cluster), token=TOKEN)
    for host in (LOOPBACK, "::1"):
        metrics = MetricsPort(host, port=process.metrics_port)
        await eventually(partial(metrics.health, deadline=DEADLINE))
        async with dialer.dial(Endpoint(host, process.client_port)) as client:
            status = await eventually(partial(client.status, deadline=DEADLINE))
        assert status.header.member_id == bootstrap(urls(cluster), token=TOKEN).member_ids["m0"]
        _, writer = await asyncio.open_connection(host, process.peer_port)
        writer.close()
        await writer.wait_closed()


async def test_x9_a_wiped_member_under_existing_exits_instead_of_founding_anew(cluster: LocalCluster) -> None:
    """The variables are what the annotations become once the cluster has formed: a list without itself."""
    await cluster.found(3)
    async with cluster.client("m0") as client:
        await client.put(b"k", b"v", deadline=DEADLINE)
    settled = urls(cluster)
    for process in cluster.members.values():
        process.stop(signal.SIGKILL)
    for name in ("m1", "m2"):
        cluster.members[name].wipe()
    for name in ("m1", "m2"):
        others = {other: url for other, url in settled.items() if other != name}
        process = cluster.members[name].start(cluster=others, state="existing", token=TOKEN)
        assert await process.exited(within=PATIENCE) == 1
    others = {name: url for name, url in settled.items() if name != "m0"}
    kept = cluster.members["m0"].start(cluster=others, state="existing", token=TOKEN)
    await _answers(kept)


async def test_x9_a_settled_member_restarts_on_its_data_with_a_list_without_itself(
    cluster: LocalCluster,
) -> None:
    ids = await cluster.found(3)
    for name, process in cluster.members.items():
        process.stop()
        others = {other: url for other, url in urls(cluster).items() if other != name}
        process.start(cluster=others, state="existing", token=TOKEN)
        status = await cluster.serving(name)
        assert (status.header.cluster_id, status.header.member_id) == (ids.cluster_id, ids.member_ids[name])


async def test_x9_under_new_a_wiped_majority_founds_the_cluster_again_under_the_same_id(
    cluster: LocalCluster,
) -> None:
    """The hazard that ``existing`` is there for: acknowledged writes are gone, and no id tells it."""
    ids = await cluster.found(3)
    async with cluster.client("m0") as client:
        await client.put(b"k", b"v", deadline=DEADLINE)
    for process in cluster.members.values():
        process.stop(signal.SIGKILL)
    for name in ("m1", "m2"):
        cluster.members[name].wipe()
        cluster.members[name].start(cluster=urls(cluster), token=TOKEN)
    again = await cluster.serving("m1")
    assert again.header.cluster_id == ids.cluster_id
    assert again.header.member_id == ids.member_ids["m1"]
    async with cluster.client("m1") as client:
        assert (await client.get(b"k", deadline=DEADLINE)).value is None


async def test_X2_a_wiped_member_under_new_is_refused_by_its_peers(cluster: LocalCluster) -> None:
    await cluster.found(3)
    process = cluster.members["m2"]
    process.stop()
    process.wipe()
    process.start(cluster=urls(cluster), token=TOKEN)
    assert await process.exited(within=PATIENCE) == 1
    assert "already been bootstrapped" in process.log


async def test_x1_a_wiped_member_with_its_old_id_under_existing_can_not_follow(cluster: LocalCluster) -> None:
    await cluster.found(3)
    process = cluster.members["m2"]
    process.stop()
    process.wipe()
    process.start(cluster=urls(cluster), state="existing", token=TOKEN)
    assert await process.exited(within=PATIENCE) != 0
    assert "tocommit" in process.log


async def test_x10_a_joiner_whose_list_is_stale_exits(cluster: LocalCluster) -> None:
    await cluster.found(1)
    newcomer = cluster.make("m1")
    newcomer.start(cluster=urls(cluster), state="existing")
    assert await newcomer.exited(within=PATIENCE) == 1
    assert "member count is unequal" in newcomer.log


async def _answers(process: Process) -> None:
    """Wait until the member runs, if without a quorum."""
    metrics = MetricsPort(LOOPBACK, port=process.metrics_port)
    await eventually(lambda: metrics.livez(deadline=DEADLINE))


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
