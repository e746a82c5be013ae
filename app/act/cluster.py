"""Carries out the plan for one cluster: the status first, then the actions, group by group.

Every call goes through an `Api` that is fenced by the Lease. Each action is idempotent: one whose object is
there already, or is gone already, has succeeded. The first failure ends it, and the next look starts from
what is so. What was written is noted at the barrier, so that the next look waits until the caches show it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

from app.act.membership import Membership
from app.act.own_image import OwnImage
from app.act.refusals import Refusals
from app.api.base import JsonObject
from app.api.cluster import ClusterSpec
from app.build.common import APPLIED_ANNOTATION, MEMBER_LABEL, QUARANTINE_LABEL, Platform, owner, selector
from app.build.helper import helper
from app.build.pdb import pdb
from app.build.pod import pod
from app.build.service import service
from app.build.volume import claim, growth, retention
from app.kube.api import Api
from app.kube.applying import NotOurs, apply
from app.kube.barrier import Barrier
from app.kube.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from app.kube.informer import Informer
from app.kube.objects import CustomObject, Object
from app.kube.resources import PERSISTENT_VOLUME_CLAIMS, PODS, Resource
from app.observe.caches import ETCD_CLUSTERS, Caches
from app.ops.logging import get_logger
from app.plan.actions import (
    Action,
    AddMember,
    Annotate,
    CreateHelper,
    CreatePod,
    CreateVolume,
    DeleteBudget,
    DeletePod,
    DeleteService,
    DeleteVolume,
    Deletion,
    Disarm,
    EnsureBudget,
    EnsureService,
    GrowVolume,
    Label,
    MoveLeader,
    PromoteMember,
    Quarantine,
    RemoveMember,
    SetRetention,
    TakeOver,
)
from app.plan.observed import ClusterRef

log = get_logger(__name__)

T = TypeVar("T", bound=Object)

Mark: TypeAlias = Annotate | Label | Quarantine | SetRetention | TakeOver


class Actor:
    """Writes to the API server on behalf of one leader."""

    def __init__(
        self,
        api: Api,
        caches: Caches,
        barrier: Barrier,
        platform: Platform,
        membership: Membership,
        own_image: OwnImage,
    ) -> None:
        """Act through ``api`` and ``membership``, which are both fenced."""
        self.refusals = Refusals()
        self._membership = membership
        self._own_image = own_image
        self._api = api
        self._caches = caches
        self._barrier = barrier
        self._platform = platform

    async def write_status(self, obj: CustomObject, status: JsonObject) -> CustomObject | None:
        """Write a status over the version that was seen; None when nothing differs, and nothing is sent.

        Returns the custom resource as it is then. Raises `Conflict` when it has changed meanwhile.
        """
        changes = difference(obj.status, status)
        if not changes:
            return None
        meta = obj.metadata
        body = {"metadata": {"resourceVersion": meta.resource_version}, "status": changes}
        written = await self._api.patch(ETCD_CLUSTERS, meta.namespace, meta.name, body, subresource="status")
        self._barrier.wrote(meta.key, self._caches.clusters, written)
        return written

    async def act(
        self, cluster: ClusterRef, spec: ClusterSpec, groups: tuple[tuple[Action, ...], ...]
    ) -> None:
        """Carry out groups of actions in order, the actions of one group at once.

        Raises the error of the first action of a group that failed, once the others of it have ended.
        """
        for group in groups:
            outcomes = await asyncio.gather(
                *(self._one(cluster, spec, action) for action in group), return_exceptions=True
            )
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome

    async def _one(self, cluster: ClusterRef, spec: ClusterSpec, action: Action) -> None:
        match action:
            case EnsureService():
                body = service(cluster, spec.service, name=action.name, client=action.client)
                await self._ensure(cluster, self._caches.services, body)
            case EnsureBudget():
                body = pdb(cluster, min_available=action.min_available)
                await self._ensure(cluster, self._caches.budgets, body)
            case CreateVolume():
                wanted = spec.pod.persistent_volume_claim_spec or {}
                body = claim(cluster, member=action.member, spec=wanted, retain=spec.retains)
                await self._create(cluster, PERSISTENT_VOLUME_CLAIMS, self._caches.volumes, body)
            case CreatePod():
                body = pod(cluster, spec, action, platform=self._platform)
                await self._create(cluster, PODS, self._caches.pods, body)
            case CreateHelper():
                await self._create_helper(cluster, spec, action)
            case GrowVolume():
                await self._grow(cluster, action)
            case Annotate() | Label() | Quarantine() | SetRetention() | TakeOver():
                await self._mark(cluster, action)
            case DeletePod() | DeleteVolume() | DeleteService() | DeleteBudget():
                await self._delete(cluster, action)
            case AddMember() | PromoteMember() | RemoveMember() | MoveLeader() | Disarm():
                await self._membership.send(action)

    async def _create(
        self, cluster: ClusterRef, resource: Resource[Any], cache: Informer[Any], body: JsonObject
    ) -> None:
        name = body["metadata"]["name"]
        try:
            made = await self._api.create(resource, body, namespace=cluster.namespace)
        except AlreadyExists:
            log.info("Found an object that was to be created", kind=resource.kind, name=name)
            return
        log.info("Created an object", kind=resource.kind, name=name)
        self._barrier.wrote(cluster.key, cache, made)

    async def _ensure(self, cluster: ClusterRef, cache: Informer[Any], body: JsonObject) -> None:
        resource: Resource[Any] = cache.resource
        name = body["metadata"]["name"]
        # Read live: the cache may know only what carries our labels, and the name may be somebody else's.
        live = await self._find(resource, cluster.namespace, name)
        try:
            made = await apply(
                self._api, resource, body, live=live, owner_uid=cluster.uid, marker=APPLIED_ANNOTATION
            )
        except NotOurs as error:
            log.warning("Left a foreign object alone", kind=resource.kind, name=name, error=error)
            return
        if made is not None:
            log.info("Wrote an object", kind=resource.kind, name=name)
            self._barrier.wrote(cluster.key, cache, made)

    async def _find(self, resource: Resource[T], namespace: str, name: str) -> T | None:
        try:
            return await self._api.get(resource, namespace, name)
        except NotFound:
            return None

    async def _create_helper(self, cluster: ClusterRef, spec: ClusterSpec, action: CreateHelper) -> None:
        image = await self._own_image.find()
        body = helper(cluster, spec, action, platform=self._platform, operator_image=image)
        await self._create(cluster, PODS, self._caches.pods, body)

    async def _mark(self, cluster: ClusterRef, action: Mark) -> None:
        caches = (self._caches.pods, self._caches.volumes, self._caches.services)
        cache: Informer[Any] = next(one for one in caches if one.resource.kind == action.kind)
        # The uid is immutable: a patch that names another one is refused, so it works as a precondition.
        body = {"metadata": {"uid": action.uid, **_marks(cluster, action)}}
        try:
            changed: Object = await self._api.patch(cache.resource, cluster.namespace, action.name, body)
        except (NotFound, Conflict):
            log.info("Found another object than the one to mark", kind=action.kind, name=action.name)
            return
        self._barrier.wrote(cluster.key, cache, changed)

    async def _grow(self, cluster: ClusterRef, action: GrowVolume) -> None:
        body = {"metadata": {"uid": action.uid}, "spec": growth(action.storage)}
        try:
            changed = await self._api.patch(PERSISTENT_VOLUME_CLAIMS, cluster.namespace, action.name, body)
        except (NotFound, Conflict):
            log.info("Found another object than the one to grow", name=action.name)
            return
        except (Forbidden, Invalid) as error:
            log.warning("Could not grow a claim", name=action.name, storage=action.storage, error=error)
            words = (error.status.message if error.status else "") or str(error)
            self.refusals.note(cluster.key, action.name, action.storage, words)
            return
        log.info("Grew a claim", name=action.name, storage=action.storage)
        self._barrier.wrote(cluster.key, self._caches.volumes, changed)

    def _cache_of(self, action: Deletion) -> Informer[Any]:
        match action:
            case DeletePod():
                return self._caches.pods
            case DeleteVolume():
                return self._caches.volumes
            case DeleteService():
                return self._caches.services
            case DeleteBudget():
                return self._caches.budgets

    async def _delete(self, cluster: ClusterRef, action: Deletion) -> None:
        cache = self._cache_of(action)
        resource: Resource[Any] = cache.resource
        known = cache.store.get(f"{cluster.namespace}/{action.name}")
        try:
            await self._api.delete(
                resource,
                cluster.namespace,
                action.name,
                uid=action.uid,
                resource_version=action.resource_version,
            )
        except (NotFound, Conflict):
            log.info("Found another object than the one to delete", kind=resource.kind, name=action.name)
            return
        log.info("Deleted an object", kind=resource.kind, name=action.name)
        if known is not None:
            self._barrier.deleted(cluster.key, cache, known)


def _marks(cluster: ClusterRef, action: Mark) -> JsonObject:
    match action:
        case Annotate():
            return {"annotations": dict(action.annotations)}
        case Label():
            return {"labels": {**selector(cluster.name), MEMBER_LABEL: action.name}}
        case TakeOver():
            return {"ownerReferences": [owner(cluster)]}
        case Quarantine():
            return {"labels": {QUARANTINE_LABEL: action.token or None}}
        case SetRetention():
            version = {"resourceVersion": action.resource_version}
            return {**version, **retention(cluster, retain=action.retain)}


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) that turns one object into the other; empty when they are equal."""
    changes: dict[str, Any] = {key: None for key in before if key not in after and before[key] is not None}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            nested = difference(old, value)
            if nested:
                changes[key] = nested
        elif key not in before or old != value:
            changes[key] = value
    return changes
