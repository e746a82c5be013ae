"""Don't decide on a view from before one's own last write.

A cache lags behind the API server by a few milliseconds, or by seconds on a bad day. Who writes an object
and then looks into the cache doesn't see it and writes it again: two Pods instead of one. So each write is
noted under the key it was made for, and that key isn't looked at again until the caches have seen it. The
wait is bounded, since a write may leave what a cache selects. (kopf#844; client-go's expectations)
"""

import asyncio
from typing import Any

from app.kube.informer import Informer
from app.kube.objects import Object
from app.kube.versions import reached
from app.ops.logging import get_logger

log = get_logger(__name__)

LIMIT_SECONDS = 10.0


class Barrier:
    """The writes that caches haven't shown yet, by key."""

    def __init__(self, *, limit: float = LIMIT_SECONDS) -> None:
        """Make one that makes a key wait for ``limit`` seconds at most."""
        self._limit = limit
        self._written: dict[str, dict[int, tuple[Informer[Any], str]]] = {}
        self._deleted: dict[str, dict[str, tuple[Informer[Any], str]]] = {}

    def wrote(self, key: str, informer: Informer[Any], obj: Object) -> None:
        """Note that ``obj`` was written for ``key``, with the version the answer had."""
        # Versions grow within a resource, so the highest stands for all. It isn't always the last that is
        # noted: of several writes at once the answers come in any order.
        noted = self._written.setdefault(key, {})
        version = obj.metadata.resource_version
        before = noted.get(id(informer))
        if before is None or not reached(before[1], version):
            noted[id(informer)] = (informer, version)

    def deleted(self, key: str, informer: Informer[Any], obj: Object) -> None:
        """Note that ``obj`` was deleted, or told to go, for ``key``."""
        entry = (informer, obj.metadata.key)
        self._deleted.setdefault(key, {})[obj.metadata.uid] = entry

    async def wait(self, key: str) -> bool:
        """Wait until the caches have seen all that was noted for ``key``; False when the limit came first."""
        written = self._written.pop(key, {})
        deleted = self._deleted.pop(key, {})
        try:
            async with asyncio.timeout(self._limit):
                for informer, version in written.values():
                    await informer.saw(version)
                for uid, (informer, name) in deleted.items():
                    await informer.saw_gone(name, uid)
        except TimeoutError:
            log.warning("Caches did not show the operator's own writes in time", key=key, seconds=self._limit)
            return False
        return True

    def forget(self, key: str) -> None:
        """Forget a key whose object is gone."""
        self._written.pop(key, None)
        self._deleted.pop(key, None)
