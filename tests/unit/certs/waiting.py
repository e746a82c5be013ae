"""Waiting for a condition, in real or virtual time."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], bool], *, seconds: float = 10, every: float = 0.01) -> None:
    """Ask every `every` seconds until it is so; raises ``TimeoutError``."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the things waited for know of no events
            await asyncio.sleep(every)
