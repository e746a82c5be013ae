"""What a member says without gRPC: the metrics port, and the peer port when the quorum is lost.

A look at the metrics port is cheap (plain HTTP, no certificate, no quorum) and may start an observation; it
is never a reason to act, since ``/readyz`` is 503 on *every* member while one has a CORRUPT alarm, and
always on a learner. Without a quorum the client port is silent and only these two ports speak.

A deadline is in seconds and covers the whole exchange. The peer port is asked over a session of the caller's.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import aiohttp
import msgspec

from app.etcd import plain_http
from app.etcd.endpoint import authority
from app.etcd.errors import ConnectionLost, DeadlineExceeded, Malformed, TLSFailure, Unreachable
from app.etcd.flags import METRICS_PORT, PEER_PORT
from app.etcd.model import Member

if TYPE_CHECKING:
    import ssl
    from collections.abc import Collection, Mapping

_OK: Final = 200
_NO_OTHER_LIMIT: Final = aiohttp.ClientTimeout(total=None)  # the session's own would cut ours short
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a health endpoint; its text names the checks that failed."""

    status: int
    text: str

    @property
    def ok(self) -> bool:
        """Whether the member says yes."""
        return self.status == _OK


@dataclass(frozen=True, slots=True)
class PeerVersion:
    """The versions that the peer port tells; ``cluster`` is ``not_decided`` before the first election."""

    server: str
    cluster: str


@dataclass(frozen=True, slots=True)
class PeerMembers:
    """The membership as the member knows it, without a quorum: it may be stale."""

    cluster_id: int
    members: tuple[Member, ...]


class MetricsPort:
    """The metrics port of one member: plain HTTP, also where the cluster's other ports have certificates."""

    def __init__(self, host: str, *, port: int = METRICS_PORT) -> None:
        self._host = host
        self._port = port

    async def livez(self, *, deadline: float) -> Answer:
        """Ask whether the process works; needs no quorum. 404 before etcd 3.4.29 and 3.5.11."""
        return await self._ask("/livez", deadline)

    async def readyz(self, *, deadline: float) -> Answer:
        """Ask whether the member serves; costs a linearizable read. 404 before etcd 3.4.29 and 3.5.11."""
        return await self._ask("/readyz", deadline)

    async def health(self, *, deadline: float) -> Answer:
        """Ask the old way, which every version knows; one NOSPACE alarm makes it 503 on all members."""
        return await self._ask("/health", deadline)

    async def metrics(self, names: Collection[str], *, deadline: float) -> dict[str, float]:
        """Return the samples of these metrics, by name with labels, as the text format has them."""
        answer = await self._ask("/metrics", deadline)
        return samples(answer.text, names)

    async def _ask(self, path: str, deadline: float) -> Answer:
        page = await plain_http.get(self._host, self._port, path, deadline=deadline)
        return Answer(page.status, page.body.decode(errors="replace"))


class PeerPort:
    """The peer port of one member; ``tls`` carries a peer certificate where the cluster demands one."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        host: str,
        *,
        port: int = PEER_PORT,
        tls: ssl.SSLContext | None = None,
        server_name: str | None = None,
    ) -> None:
        self._session = session
        self._base = f"{'https' if tls else 'http'}://{authority(host, port)}"
        self._options: dict[str, Any] = {"ssl": tls, "server_hostname": server_name} if tls else {}

    async def version(self, *, deadline: float) -> PeerVersion:
        """Ask for the versions; answered before the member has joined, and without a quorum."""
        found = _decode(await self._get("/version", deadline), _VersionBody)
        return PeerVersion(found.etcdserver, found.etcdcluster)

    async def members(self, *, deadline: float) -> PeerMembers:
        """Ask for the membership; answered without a quorum."""
        page = await self._get("/members", deadline)
        try:
            cluster_id = int(page.headers["X-Etcd-Cluster-Id"], 16)
        except (KeyError, ValueError) as error:
            raise Malformed(f"{page.url}: no cluster id in the answer") from error
        listed = _decode(page, list[_MemberBody])
        return PeerMembers(cluster_id, tuple(sorted(map(_member, listed), key=lambda found: found.id)))

    async def _get(self, path: str, deadline: float) -> _Page:
        return await _fetch(self._session, self._base + path, deadline, **self._options)


def samples(text: str, names: Collection[str]) -> dict[str, float]:
    """Read the samples of these metrics out of the Prometheus text format, labels left in the keys."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line.partition("{")[0].partition(" ")[0] in names:
            key, _, value = line.rpartition(" ")
            found[key] = float(value)
    return found


class _VersionBody(msgspec.Struct):
    etcdserver: str
    etcdcluster: str


class _MemberBody(msgspec.Struct):
    id: int
    peerURLs: tuple[str, ...] = ()  # noqa: N815 - as etcd spells it
    name: str = ""
    clientURLs: tuple[str, ...] = ()  # noqa: N815
    isLearner: bool = False  # noqa: N815


@dataclass(frozen=True, slots=True)
class _Page:
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


async def _fetch(session: aiohttp.ClientSession, url: str, deadline: float, **options: Any) -> _Page:
    try:
        async with (
            asyncio.timeout(deadline),
            session.get(url, allow_redirects=False, timeout=_NO_OTHER_LIMIT, **options) as response,
        ):
            return _Page(url, response.status, response.headers, await response.read())
    except TimeoutError as error:
        raise DeadlineExceeded(f"{url}: no answer in {deadline:g} s") from error
    except aiohttp.ClientSSLError as error:
        raise TLSFailure(f"{url}: {error}") from error
    except aiohttp.ClientConnectorError as error:
        raise Unreachable(f"{url}: {error}") from error
    except (aiohttp.ClientError, OSError) as error:
        raise ConnectionLost(f"{url}: {error}") from error


def _decode(page: _Page, shape: type[_T]) -> _T:
    if page.status != _OK:
        raise Malformed(f"{page.url}: status {page.status}")
    try:
        return msgspec.json.decode(page.body, type=shape)
    except msgspec.MsgspecError as error:
        raise Malformed(f"{page.url}: {error}") from error


def _member(body: _MemberBody) -> Member:
    return Member(
        id=body.id,
        name=body.name,
        peer_urls=body.peerURLs,
        client_urls=body.clientURLs,
        is_learner=body.isLearner,
    )
