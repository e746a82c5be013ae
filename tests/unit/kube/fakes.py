"""An API server in memory, for faults and times that a real one can't be brought to.

It keeps objects with versions and a history, answers the verbs the machinery uses, and lets a test step in
before each request: to wait, to fail, or to look. What it promises is checked against a real server in
``tests/integration/kube``, where the same machinery runs.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from app.kube.errors import DeadlineExceeded, error_of
from app.kube.transport import Hook, Request

Body = dict[str, Any]
Step = Callable[[Request], Awaitable[None]]


def failure(code: int, reason: str, **more: Any) -> Exception:
    """Return the error that such an answer of the API server becomes."""
    return error_of(code, status(code, reason, **more))


def status(code: int, reason: str, **more: Any) -> bytes:
    return json.dumps({"kind": "Status", "code": code, "reason": reason, "message": reason, **more}).encode()


@dataclass
class Feed:
    """A watch's connection."""

    news: asyncio.Event = field(default_factory=asyncio.Event)
    dead: bool = False
    expired: bool = False


@dataclass
class FakeServer:
    """A ``Transport`` and the server behind it."""

    hooks: list[Hook] = field(default_factory=list)
    objects: dict[str, Body] = field(default_factory=dict)
    history: list[tuple[int, str, Body]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    step: Step | None = None
    version: int = 100
    streams_lists: bool = True
    feeds: "list[Feed]" = field(default_factory=list)

    def put(self, path: str, body: Body, *, kind: str = "") -> Body:
        """Store an object, as somebody else's write."""
        self.version += 1
        old = self.objects.get(path)
        meta = {
            "uid": f"uid-{self.version}",
            **body.get("metadata", {}),
            "resourceVersion": str(self.version),
        }
        if old:
            meta["uid"] = old["metadata"]["uid"]
        new = {**body, "metadata": meta}
        self.objects[path] = new
        self._tell(kind or ("MODIFIED" if old else "ADDED"), path, new)
        return new

    def remove(self, path: str) -> None:
        """Delete an object, as somebody else's act."""
        self.version += 1
        old = self.objects.pop(path)
        gone = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
        self._tell("DELETED", path, gone)

    def compact(self) -> None:
        """Forget the history: watches from before are answered with 410."""
        self.history.clear()

    def kill_watches(self) -> None:
        """Let the open watches bring nothing more, without ending them."""
        for feed in self.feeds:
            feed.dead = True

    def expire_watches(self) -> None:
        """Tell the open watches that their version is gone (410), as an event."""
        for feed in self.feeds:
            feed.expired = True
            feed.news.set()

    def watches(self) -> list[Request]:
        return [request for request in self.requests if "watch" in request.query]

    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.method != "GET"]

    def _tell(self, kind: str, path: str, body: Body) -> None:
        self.history.append((self.version, kind, {"path": path, "object": body}))
        for feed in self.feeds:
            feed.news.set()

    async def request(self, request: Request, *, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(deadline):
                self.requests.append(request)
                if self.step is not None:
                    await self.step(request)
                return json.dumps(self._answer(request)).encode()
        except TimeoutError as error:
            raise DeadlineExceeded(request.doing) from error

    def _answer(self, request: Request) -> Body:
        path = request.path
        body: Any = json.loads(request.body) if request.body else {}
        match request.method:
            case "GET" if path in self.objects:
                return self.objects[path]
            case "GET" if path.rsplit("/", 1)[-1].endswith("s"):
                items = [obj for name, obj in self.objects.items() if name.startswith(path + "/")]
                return {"metadata": {"resourceVersion": str(self.version)}, "items": items}
            case "POST":
                path = f"{path}/{body['metadata']['name']}"
                if path in self.objects:
                    raise failure(409, "AlreadyExists")
                return self.put(path, body)
            case "PATCH" if path in self.objects:
                return self._patch(path, body)
            case "DELETE" if path in self.objects:
                self.remove(path)
                return {"kind": "Status"}
            case _:
                raise failure(404, "NotFound")

    def _patch(self, path: str, patch: Body) -> Body:
        old = self.objects[path]
        wanted = patch.get("metadata", {}).get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise failure(409, "Conflict")
        return self.put(path, _merged(old, patch))

    @asynccontextmanager
    async def stream(
        self, request: Request, *, deadline: float, silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self.requests.append(request)
        if self.step is not None:
            await self.step(request)
        if "sendInitialEvents" in request.query and not self.streams_lists:
            raise failure(422, "Invalid")
        feed = Feed()
        self.feeds.append(feed)
        chunks = self._chunks(request, feed, silence)
        try:
            yield chunks
        finally:
            await chunks.aclose()
            self.feeds.remove(feed)

    async def _chunks(self, request: Request, feed: Feed, silence: float) -> AsyncGenerator[bytes, None]:
        at = int(request.query.get("resourceVersion") or self.version)
        prefix = request.path + "/"
        if "sendInitialEvents" in request.query:
            for path, obj in list(self.objects.items()):
                if path.startswith(prefix):
                    yield _line("ADDED", obj)
            at = self.version
            yield bookmark(at, end=True)
        elif self._forgot(at):
            yield _line("ERROR", json.loads(status(410, "Expired")))
            return
        while True:
            if feed.expired:
                yield _line("ERROR", json.loads(status(410, "Expired")))
                return
            for version, kind, entry in list(self.history):
                if version > at and entry["path"].startswith(prefix) and not feed.dead:
                    at = version
                    yield _line(kind, entry["object"])
            feed.news.clear()
            try:
                async with asyncio.timeout(silence):
                    await (asyncio.Event() if feed.dead else feed.news).wait()
            except TimeoutError as error:
                raise DeadlineExceeded("silent") from error

    def _forgot(self, version: int) -> bool:
        oldest = self.history[0][0] if self.history else self.version + 1
        return oldest > version + 1


@dataclass
class Link:
    """One client's way to the server, which can be cut: what is sent then gets no answer."""

    server: FakeServer
    cut: asyncio.Event = field(default_factory=asyncio.Event)
    hooks: list[Hook] = field(default_factory=list)

    async def request(self, request: Request, *, deadline: float) -> bytes:
        try:
            async with asyncio.timeout(deadline):
                if self.cut.is_set():
                    await asyncio.Event().wait()
                return await self.server.request(request, deadline=deadline)
        except TimeoutError as error:
            raise DeadlineExceeded(request.doing) from error

    @asynccontextmanager
    async def stream(
        self, request: Request, *, deadline: float, silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if self.cut.is_set():
            await asyncio.sleep(deadline)
            raise DeadlineExceeded(request.doing)
        async with self.server.stream(request, deadline=deadline, silence=silence) as chunks:
            guarded = self._guarded(chunks, silence)
            try:
                yield guarded
            finally:
                await guarded.aclose()

    async def _guarded(self, chunks: AsyncIterator[bytes], silence: float) -> AsyncGenerator[bytes, None]:
        async for chunk in chunks:
            if self.cut.is_set():
                await asyncio.sleep(silence)
                raise DeadlineExceeded("silent")
            yield chunk


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition of the fakes, which have no events to wait for."""
    while not condition():  # noqa: ASYNC110 -- any condition
        await asyncio.sleep(0.05)


def bookmark(version: int, *, end: bool = False) -> bytes:
    meta: Body = {"resourceVersion": str(version)}
    if end:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    # Containers are null in a real server's bookmark for Pods, too.
    return _line("BOOKMARK", {"metadata": meta, "spec": {"containers": None}})


def _line(kind: str, obj: Body) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def _merged(old: Any, patch: Any) -> Any:
    """JSON merge patch, RFC 7386."""
    if not isinstance(patch, dict) or not isinstance(old, dict):
        return patch
    merged = {key: value for key, value in old.items() if patch.get(key, value) is not None}
    return merged | {
        key: _merged(old.get(key, {}), value) for key, value in patch.items() if value is not None
    }
