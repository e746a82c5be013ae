"""Waiting for what objects of a namespace become."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from app.kube.informer import Informer
from app.kube.objects import Object
from app.kube.resources import Resource
from app.ops.metrics import Metrics
from tests.integration.operator.beside import beside
from tests.integration.operator.world import PATIENCE_SECONDS, Place

T = TypeVar("T", bound=Object)


class Watched(Generic[T]):
    """The objects of one resource, by name."""

    def __init__(self, informer: Informer[T]) -> None:
        self._informer = informer

    def now(self) -> dict[str, T]:
        """What is there."""
        return {one.metadata.name: one for one in self._informer.store.values()}

    async def until(self, condition: Callable[[dict[str, T]], bool]) -> dict[str, T]:
        """Wait until what is there satisfies a condition, and return it."""
        met = asyncio.Event()

        def look(_old: T | None, _new: T | None) -> None:
            if condition(self.now()):
                met.set()

        self._informer.subscribe(look)
        look(None, None)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await met.wait()
        return self.now()


@asynccontextmanager
async def watching(here: Place, resource: Resource[T]) -> AsyncIterator[Watched[T]]:
    """Watch a resource of the namespace for the length of the block."""
    informer = Informer(here.api, resource, namespace=here.namespace, metrics=Metrics())
    async with beside(informer.run()):
        await informer.synced.wait()
        yield Watched(informer)
