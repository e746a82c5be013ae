"""The pool, over channels that connect to nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import pytest

from app.etcd.endpoint import TLS, Endpoint
from app.etcd.errors import Unreachable
from app.etcd.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.looptime

ONE, TWO, THREE = (Endpoint(f"10.0.0.{index}") for index in (1, 2, 3))


class Channel:
    """What the pool and a client need of a gRPC channel."""

    def __init__(self) -> None:
        self.state = grpc.ChannelConnectivity.READY
        self.closed = False

    def get_state(self) -> grpc.ChannelConnectivity:
        return self.state

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.closed = True

    def unary_unary(self, *_arguments: object, **_options: object) -> None:
        """Stubs ask for these when they are made."""

    unary_stream = stream_stream = unary_unary


class Opener:
    def __init__(self) -> None:
        self.opened: list[tuple[Endpoint, Channel]] = []

    def __call__(self, endpoint: Endpoint) -> Channel:
        self.opened.append((endpoint, Channel()))
        return self.opened[-1][1]

    def __iter__(self) -> Iterator[Channel]:
        return (channel for _, channel in self.opened)

    @property
    def open(self) -> int:
        return sum(not channel.closed for channel in self)


@pytest.fixture
def opener() -> Opener:
    return Opener()


async def use(pool: Pool, endpoint: Endpoint) -> None:
    async with pool.dial(endpoint):
        pass


async def test_a_channel_is_used_again_and_closed_when_idle(opener: Opener) -> None:
    pool = Pool(idle_seconds=20, opener=opener)
    await use(pool, ONE)
    await asyncio.sleep(19)
    await use(pool, ONE)
    assert len(opener.opened) == 1
    await asyncio.sleep(19)
    assert opener.open == 1
    await asyncio.sleep(2)
    assert (len(pool), opener.open) == (0, 0)
    await pool.close()


async def test_a_channel_that_is_not_connected_is_not_kept(opener: Opener) -> None:
    pool = Pool(opener=opener)
    async with pool.dial(ONE):
        opener.opened[0][1].state = grpc.ChannelConnectivity.TRANSIENT_FAILURE
    assert len(pool) == 0
    await pool.close()
    assert opener.open == 0


async def test_concurrent_users_of_an_endpoint_share_a_channel(opener: Opener) -> None:
    pool = Pool(opener=opener)
    async with pool.dial(ONE), pool.dial(Endpoint("10.0.0.1")):
        assert len(opener.opened) == 1
    await pool.close()


async def test_at_the_bound_the_longest_idle_gives_way(opener: Opener) -> None:
    pool = Pool(limit=2, opener=opener)
    await use(pool, ONE)
    await use(pool, TWO)
    await use(pool, ONE)
    await use(pool, THREE)
    await asyncio.sleep(0.1)
    assert [channel.closed for channel in opener] == [False, True, False]
    await pool.close()


async def test_when_all_are_in_use_the_next_one_waits(opener: Opener) -> None:
    pool = Pool(limit=1, opener=opener)
    waiting = []
    async with pool.dial(ONE):
        waiting = [asyncio.create_task(use(pool, endpoint)) for endpoint in (TWO, THREE)]
        await asyncio.sleep(60)
        assert not any(task.done() for task in waiting)
        waiting[0].cancel()
        await asyncio.sleep(1)
    await asyncio.wait_for(waiting[1], timeout=1)
    assert waiting[0].cancelled()
    assert [endpoint for endpoint, _ in opener.opened] == [ONE, THREE]
    await pool.close()


async def test_a_waiter_that_is_cancelled_as_it_is_woken_passes_the_turn_on(opener: Opener) -> None:
    pool = Pool(limit=1, opener=opener)
    async with pool.dial(ONE):
        first, second = (asyncio.create_task(use(pool, endpoint)) for endpoint in (TWO, THREE))
        await asyncio.sleep(1)
    first.cancel()
    await asyncio.wait_for(second, timeout=1)
    assert first.cancelled()
    await pool.close()


async def test_a_closed_pool_gives_nothing_and_leaves_nothing_open(opener: Opener) -> None:
    pool = Pool(limit=1, opener=opener)
    async with pool.dial(ONE):
        waiting = asyncio.create_task(use(pool, TWO))
        await asyncio.sleep(1)
        await pool.close()
        with pytest.raises(Unreachable):
            await waiting
    with pytest.raises(Unreachable):
        await use(pool, ONE)
    assert opener.open == 0


def test_H9_a_target_is_never_resolved_when_it_is_an_address_and_has_its_brackets() -> None:
    assert Endpoint("10.0.0.1").target == "ipv4:10.0.0.1:2379"
    assert Endpoint("fd00::1", 1).target == "ipv6:[fd00::1]:1"
    assert Endpoint("localhost").target == "dns:///localhost:2379"
    assert str(Endpoint("10.0.0.1", server_name="a.c.ns.svc")) == "10.0.0.1:2379 (a.c.ns.svc)"


def test_a_key_is_never_shown_and_never_without_its_certificate() -> None:
    assert "SECRET" not in repr(TLS(b"ca", b"cert", b"SECRET"))
    with pytest.raises(ValueError, match="come together"):
        TLS(b"ca", key=b"key")
