"""The verbs of the Kubernetes API, typed by resource.

Each call has a ``deadline`` in seconds, which the server is told too, so that it doesn't carry out a write
whose caller has given up. Each raises a ``KubeError`` for any failure.

A fenced ``Api`` is what a leader works with: its writes are sent only while the Lease is held and have to be
answered before it runs out.
"""

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import msgspec

from app.kube.errors import NotLeading, Undecodable
from app.kube.objects import Metadata, Object
from app.kube.resources import Resource
from app.kube.transport import Request, Transport

T = TypeVar("T", bound=Object)
Body = Mapping[str, Any]

FIELD_MANAGER = "etcd-operator"
DEADLINE_SECONDS = 10.0
PAGE_SIZE = 500


class ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """The version a list was taken at, and how to go on."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """A part of a list; each object still as it came, to be decoded one by one."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


_PAGE = msgspec.json.Decoder(Page)
_DECODERS: dict[type[Object], msgspec.json.Decoder[Any]] = {}


def decode(kind: type[T], data: bytes | msgspec.Raw) -> T:
    """Decode an object. Raises ``Undecodable`` where it doesn't fit."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        decoded: T = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Undecodable(f"{kind.__name__}: {error}") from error
    return decoded


def selectors(*, labels: str = "", fields: str = "") -> dict[str, str]:
    """Return the query that asks for some of a collection only."""
    query = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in query.items() if value}


class Api:
    """Access to the API server."""

    def __init__(self, transport: Transport, *, fence: Callable[[], float] | None = None) -> None:
        """Speak through ``transport``; ``fence`` tells for how many seconds writes are still allowed."""
        self.transport = transport
        self._fence = fence

    def fenced(self, remaining: Callable[[], float]) -> "Api":
        """Return an Api whose writes are bounded by what ``remaining`` tells, in seconds."""
        return Api(self.transport, fence=remaining)

    async def get(
        self,
        resource: Resource[T],
        namespace: str | None,
        name: str,
        *,
        subresource: str = "",
        deadline: float = DEADLINE_SECONDS,
    ) -> T:
        """Return an object as it is now, not as a cache of the server had it."""
        path = resource.path(namespace, name, subresource)
        return decode(resource.type, await self._call("GET", path, {}, deadline=deadline))

    async def page(
        self,
        resource: Resource[Any],
        namespace: str | None = None,
        *,
        query: Mapping[str, str] | None = None,
        deadline: float = DEADLINE_SECONDS,
    ) -> Page:
        """Return one page of a list; ``query`` has the selectors, ``limit``, ``continue``, the version."""
        body = await self._call("GET", resource.path(namespace), query or {}, deadline=deadline)
        try:
            return _PAGE.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Undecodable(f"List of {resource.plural}: {error}") from error

    async def list(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        deadline: float = DEADLINE_SECONDS,
    ) -> list[T]:
        """Return all objects that match, as they are now. ``deadline`` is for each page of 500.

        Raises ``Expired`` where the list changed so much meanwhile that it can't be continued.
        """
        query = selectors(labels=label_selector, fields=field_selector) | {"limit": str(PAGE_SIZE)}
        found: list[T] = []
        while True:
            page = await self.page(resource, namespace, query=query, deadline=deadline)
            found += [decode(resource.type, item) for item in page.items or ()]
            if not page.metadata.continue_:
                return found
            query["continue"] = page.metadata.continue_

    async def create(
        self,
        resource: Resource[T],
        body: Body,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        deadline: float = DEADLINE_SECONDS,
    ) -> T:
        """Create an object and return it. Raises ``AlreadyExists`` where there is one of that name."""
        full, meta = _complete(resource, body, namespace)
        query = {"fieldManager": FIELD_MANAGER} | _dry(dry_run)
        path = resource.path(meta.namespace)
        return decode(resource.type, await self._call("POST", path, query, body=full, deadline=deadline))

    async def replace(
        self,
        resource: Resource[T],
        body: Body,
        *,
        namespace: str | None = None,
        subresource: str = "",
        deadline: float = DEADLINE_SECONDS,
    ) -> T:
        """Put ``body`` in the object's place. Raises ``Conflict`` if its resourceVersion is an old one."""
        full, meta = _complete(resource, body, namespace)
        path = resource.path(meta.namespace, meta.name, subresource)
        query = {"fieldManager": FIELD_MANAGER}
        return decode(resource.type, await self._call("PUT", path, query, body=full, deadline=deadline))

    async def apply(
        self,
        resource: Resource[T],
        body: Body,
        *,
        namespace: str | None = None,
        subresource: str = "",
        field_manager: str = FIELD_MANAGER,
        force: bool = True,
        deadline: float = DEADLINE_SECONDS,
    ) -> T:
        """Server-side apply: create the object or take over the fields of ``body``, and return it.

        ``body`` has only the fields the operator wants to own.
        (https://kubernetes.io/docs/reference/using-api/server-side-apply/)
        """
        full, meta = _complete(resource, body, namespace)
        path = resource.path(meta.namespace, meta.name, subresource)
        query = {"fieldManager": field_manager, "force": "true" if force else "false"}
        answer = await self._call(
            "PATCH", path, query, body=full, kind="application/apply-patch+yaml", deadline=deadline
        )
        return decode(resource.type, answer)

    async def patch(
        self,
        resource: Resource[T],
        namespace: str | None,
        name: str,
        patch: Body | Sequence[Body],
        *,
        subresource: str = "",
        field_manager: str = FIELD_MANAGER,
        deadline: float = DEADLINE_SECONDS,
    ) -> T:
        """Change parts of an object: a list is a JSON patch, a mapping a JSON merge patch.

        With ``metadata.resourceVersion`` in a merge patch, or ``test`` operations in a JSON patch, it
        succeeds only for the version meant: ``Conflict`` and ``Invalid`` are raised else.
        """
        merge = isinstance(patch, Mapping)
        kind = "application/merge-patch+json" if merge else "application/json-patch+json"
        path = resource.path(namespace, name, subresource)
        query = {"fieldManager": field_manager}
        answer = await self._call("PATCH", path, query, body=patch, kind=kind, deadline=deadline)
        return decode(resource.type, answer)

    async def delete(
        self,
        resource: Resource[T],
        namespace: str | None,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        grace_period_seconds: int | None = None,
        propagation: str = "Background",
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        """Delete an object, if it is still the one with ``uid``, in ``resource_version``.

        Raises ``NotFound`` where there is none and ``Conflict`` where another one has the name by now, or it
        has changed. The object may live on for a while: a grace period, finalizers.
        """
        conditions = {"uid": uid, "resourceVersion": resource_version}
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": {key: value for key, value in conditions.items() if value},
        }
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        await self._call("DELETE", resource.path(namespace, name), {}, body=options, deadline=deadline)

    def watch(
        self,
        resource: Resource[Any],
        namespace: str | None = None,
        *,
        query: Mapping[str, str],
        silence: float,
        deadline: float = DEADLINE_SECONDS,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch and give its chunks, as ``Transport.stream`` does."""
        request = Request("GET", resource.path(namespace), {"watch": "true", **query})
        return self.transport.stream(request, deadline=deadline, silence=silence)

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        deadline: float,
        body: object = None,
        kind: str = "application/json",
    ) -> bytes:
        if self._fence is not None and method != "GET":
            remaining = self._fence()
            if remaining <= 0:
                raise NotLeading(f"{method} {path}: not sent, since this process doesn't hold the Lease")
            deadline = min(deadline, remaining)
        data = None if body is None else msgspec.json.encode(body)
        query = {**query, "timeout": f"{math.ceil(deadline * 1000)}ms"}
        return await self.transport.request(Request(method, path, query, data, kind), deadline=deadline)


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}


def _complete(resource: Resource[Any], body: Body, namespace: str | None) -> tuple[Body, Metadata]:
    """Add apiVersion and kind, and the namespace if ``body`` names none."""
    meta = dict(body.get("metadata", {}))
    if resource.namespaced and namespace and not meta.get("namespace"):
        meta["namespace"] = namespace
    full = {"apiVersion": resource.api_version, "kind": resource.kind, **body, "metadata": meta}
    return full, Metadata(name=meta.get("name", ""), namespace=meta.get("namespace", ""))
