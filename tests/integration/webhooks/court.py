"""Objects before the API server, with the webhooks behind it: create, update, and who denied."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from app.api.base import GROUP
from app.api.kinds import rules_for
from app.kube.errors import Invalid
from app.kube.transport import Request

if TYPE_CHECKING:
    from app.api.base import JsonObject
    from app.kube.errors import StatusCause
    from app.kube.transport import Transport
    from tests.integration.webhooks.stack import Stack

_DRY = {"dryRun": "All"}


class Court:
    """One namespace of an API server."""

    def __init__(self, transport: Transport, stack: Stack) -> None:
        self._transport = transport
        self._stack = stack
        self.namespace = stack.namespace

    async def create(self, obj: JsonObject, *, dry: bool = True) -> JsonObject:
        """Create an object, or only ask whether it may be; raises Invalid."""
        return await self._send("POST", self._path(obj), self._here(obj), dry=dry)

    async def scale(self, stored: JsonObject, replicas: int) -> JsonObject:
        """Ask whether an object may have so many replicas; raises Invalid."""
        name = stored["metadata"]["name"]
        scale = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"replicas": replicas},
        }
        return await self._send("PUT", f"{self._path(stored)}/{name}/scale", scale, dry=True)

    async def update(self, obj: JsonObject, stored: JsonObject) -> JsonObject:
        """Ask whether the stored object may become this one; raises Invalid."""
        body = self._here(obj)
        version = {key: stored["metadata"][key] for key in ("name", "resourceVersion")}
        body["metadata"] = {**body.get("metadata", {}), **version}
        path = f"{self._path(stored)}/{version['name']}"
        return await self._send("PUT", path, body, dry=True)

    async def delete(self, stored: JsonObject) -> None:
        """Delete an object."""
        await self._send("DELETE", f"{self._path(stored)}/{stored['metadata']['name']}", None, dry=False)

    async def allows(self, obj: JsonObject) -> bool:
        """Whether an object may be created."""
        return not await self.refuses(obj)

    async def refuses(self, obj: JsonObject) -> bool:
        """Whether an object may not be created."""
        try:
            await self.create(obj)
        except Invalid:
            return True
        return False

    async def denial(self, asked: Any) -> tuple[tuple[StatusCause, ...], bool]:
        """The causes with which the awaitable is denied, and whether it was the webhook that denied it."""
        before = self._asked()
        with pytest.raises(Invalid) as denied:
            await asked
        status = denied.value.status
        assert status is not None
        assert status.details is not None
        return status.details.causes or (), self._asked() > before

    def _asked(self) -> float:
        return sum(replica.served("/validate") for replica in self._stack.replicas)

    def _path(self, obj: JsonObject) -> str:
        rules = rules_for(obj["kind"])
        assert rules is not None
        return f"/apis/{GROUP}/v1beta2/namespaces/{self._stack.namespace}/{rules.plural}"

    def _here(self, obj: JsonObject) -> JsonObject:
        copied = copy.deepcopy(obj)
        copied.setdefault("apiVersion", f"{GROUP}/v1beta2")
        copied.get("metadata", {}).pop("namespace", None)
        return copied

    async def _send(self, method: str, path: str, body: JsonObject | None, *, dry: bool) -> JsonObject:
        content = None if body is None else msgspec.json.encode(body)
        request = Request(method, path, _DRY if dry else {}, content)
        answer: JsonObject = msgspec.json.decode(await self._transport.request(request, deadline=30))
        return answer
