"""Waiting for what the API server shows, to the moment: a watch, and no polling between."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from app.kube.api import Api
from app.kube.client import connect
from app.kube.informer import Informer
from app.kube.objects import Object
from app.kube.resources import Resource
from app.ops.metrics import Metrics

T = TypeVar("T", bound=Object)


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Api]:
    """Access to an API server, as the kubeconfig's user."""
    transport = await connect(str(kubeconfig), metrics=Metrics())
    try:
        yield Api(transport)
    finally:
        await transport.close()


class Follower(Informer[T]):
    """A cache that can be waited on."""

    def __init__(self, api: Api, resource: Resource[T], *, namespace: str | None = None) -> None:
        super().__init__(api, resource, namespace=namespace, metrics=Metrics())
        self._changed = asyncio.Event()
        self.subscribe(lambda _old, _new: self._changed.set())

    async def until(self, condition: Callable[[list[T]], bool], *, seconds: float, what: str) -> None:
        """Wait until the objects fulfil `condition`; TimeoutError says `what` was waited for in vain."""
        try:
            async with asyncio.timeout(seconds):
                while not condition(list(self.store.values())):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise TimeoutError(f"Waited {seconds:g} s for {what}") from None


@asynccontextmanager
async def following(
    api: Api, resource: Resource[T], *, namespace: str | None = None
) -> AsyncIterator[Follower[T]]:
    """Follow a resource, from when all that there is has been seen."""
    follower = Follower(api, resource, namespace=namespace)
    task = asyncio.create_task(follower.run())
    try:
        async with asyncio.timeout(30):
            await follower.synced.wait()
        yield follower
    finally:
        task.cancel()
        await asyncio.wait([task])


def is_true(conditions: object, kind: str) -> bool:
    """Whether a list of conditions, as a custom resource's status has it, holds this one as True."""
    return isinstance(conditions, list) and any(
        one.get("type") == kind and one.get("status") == "True" for one in conditions
    )
