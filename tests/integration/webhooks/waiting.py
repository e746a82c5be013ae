"""Waiting for what a cluster has no event for."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], Awaitable[bool]], *, seconds: float = 15) -> None:
    """Ask again and again until it is so; raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - the cluster has no event for it
            await asyncio.sleep(0.05)
