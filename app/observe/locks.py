"""Who leads elsewhere: the Lease of another operator that claims a cluster, and the old operator's lock.

Read live and seldom: while another's claim stands, or while members of the old operator wait to be adopted.
"""

import json
from collections.abc import Collection
from typing import Any

from app.kube.api import Api
from app.kube.errors import Forbidden, NotFound
from app.kube.objects import Lease, Object
from app.kube.resources import LEASES, Resource
from app.plan.observed import Lock

ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints", Object)

OLD_LOCK = "etcd-operator"
"""What the old operator locks: an Endpoints object of its namespace, or a Lease where it is the fork."""

_RECORD = "control-plane.alpha.kubernetes.io/leader"
_SECONDS = 15.0
"""The duration of the old operator's lock, where it does not say it."""


class Locks:
    """Reads them."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def renewal(self, holder: str) -> str | None:
        """What differs with each renewal of the Lease ``namespace/name``; None where it may not be read.

        A Lease that is not there, or that nobody holds, is renewed by nobody.
        """
        namespace, _, name = holder.partition("/")
        try:
            lease = await self._api.get(LEASES, namespace, name)
        except NotFound:
            return ""
        except Forbidden:
            return None
        return f"{lease.spec.holder_identity or ''}@{lease.spec.renew_time or ''}"

    async def old(self, namespaces: Collection[str]) -> tuple[Lock, ...]:
        """The old operator's locks that somebody is noted to hold.

        One that may not be read is held by nobody knows whom, for good.
        """
        found: list[Lock | None] = []
        resources: tuple[Resource[Any], ...] = (ENDPOINTS, LEASES)
        for namespace in sorted(namespaces):
            for resource in resources:
                what = f"{resource.kind} {namespace}/{OLD_LOCK}"
                try:
                    found.append(_read(what, await self._api.get(resource, namespace, OLD_LOCK)))
                except NotFound:
                    continue
                except Forbidden:
                    found.append(Lock(what, holder="", renewed="", seconds=float("inf")))
        return tuple(lock for lock in found if lock is not None)


def _read(what: str, found: Object) -> Lock | None:
    if isinstance(found, Lease):
        spec = found.spec
        seconds = float(spec.lease_duration_seconds or _SECONDS)
        holder = spec.holder_identity or ""
        return Lock(what, holder, spec.renew_time or "", seconds) if holder else None
    text = found.metadata.annotation(_RECORD)
    if not text:
        return None  # no lock: endpoints of a Service of that name
    try:
        record = json.loads(text)
        holder = str(record["holderIdentity"])
        seconds = float(record.get("leaseDurationSeconds") or _SECONDS)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Lock(what, "somebody", text, _SECONDS)
    return Lock(what, holder, text, seconds) if holder else None
