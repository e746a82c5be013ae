"""What the operator knows of the API server's objects: a store with indexes.

An informer fills it and everybody reads it. Reading is plain dictionary access, never a wait, and since the
event loop runs one step at a time, a reader sees an object and its index entries change together. The
objects are frozen and shared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from app.kube.objects import Object

T = TypeVar("T", bound=Object)

Indexer = Callable[[T], Iterable[str]]
"""Under which values an object is found in one index."""


class Store(Generic[T]):
    """Objects by key (``namespace/name``) and by the values of their indexes."""

    def __init__(self, indexers: Mapping[str, Indexer[T]] | None = None) -> None:
        self._indexers = dict(indexers or {})
        self._objects: dict[str, T] = {}
        self._indexes: dict[str, dict[str, set[str]]] = {name: {} for name in self._indexers}

    def get(self, key: str) -> T | None:
        """Return the object, or None where there is none."""
        return self._objects.get(key)

    def by_index(self, name: str, value: str) -> list[T]:
        """Return the objects that index ``name`` has under ``value``, ordered by key."""
        return [self._objects[key] for key in sorted(self._indexes[name].get(value, ()))]

    def keys(self) -> list[str]:
        """Return all keys, as they are now."""
        return list(self._objects)

    def values(self) -> list[T]:
        """Return all objects, as they are now."""
        return list(self._objects.values())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._objects)

    def put(self, obj: T) -> T | None:
        """Store an object and return the one it replaces. For the informer that owns the store."""
        key = obj.metadata.key
        old = self._objects.get(key)
        self._objects[key] = obj
        for name, indexer in self._indexers.items():
            before = set(indexer(old)) if old is not None else set()
            after = set(indexer(obj))
            self._unindex(name, key, before - after)
            for value in after - before:
                self._indexes[name].setdefault(value, set()).add(key)
        return old

    def remove(self, key: str) -> T | None:
        """Drop an object and return it. For the informer that owns the store."""
        old = self._objects.pop(key, None)
        if old is not None:
            for name, indexer in self._indexers.items():
                self._unindex(name, key, indexer(old))
        return old

    def _unindex(self, name: str, key: str, values: Iterable[str]) -> None:
        index = self._indexes[name]
        for value in values:
            keys = index.get(value)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del index[value]
