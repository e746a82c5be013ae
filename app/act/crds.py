"""Installing the CustomResourceDefinitions (``--create-crd``), by the leader alone.

One that is missing is created, one of an older schema is replaced, one of a newer schema is left alone: an
operator that is rolled back must not take fields away from objects that use them.
"""

import asyncio
from typing import Any

from app.api.base import JsonObject
from app.api.crd import VERSION_ANNOTATION, crds
from app.errors import OperatorError
from app.kube.api import Api
from app.kube.errors import AlreadyExists, Conflict, NotFound
from app.kube.objects import CustomObject
from app.kube.resources import CRDS
from app.ops.logging import get_logger

log = get_logger(__name__)

ESTABLISHED_SECONDS = 60.0
_POLL_SECONDS = 0.1


class NotEstablished(OperatorError):  # noqa: N818 - a verdict
    """The API server did not accept the names of a CustomResourceDefinition, or not in time."""


async def install(api: Api) -> None:
    """Install the CRDs and wait until they are served. Raises `KubeError` or `NotEstablished`."""
    for body in crds().values():
        await _install_one(api, body)
    for body in crds().values():
        await _established(api, body["metadata"]["name"])


async def _install_one(api: Api, body: JsonObject) -> None:
    name = body["metadata"]["name"]
    try:
        live = await api.get(CRDS, None, name)
    except NotFound:
        try:
            await api.create(CRDS, body)
        except AlreadyExists:
            return
        log.info("Created a CustomResourceDefinition", name=name)
        return
    if _version(live) >= int(body["metadata"]["annotations"][VERSION_ANNOTATION]):
        return
    spec: dict[str, Any] = {**body["spec"], "preserveUnknownFields": False}
    version = {"resourceVersion": live.metadata.resource_version}
    try:
        await api.replace(CRDS, {**body, "metadata": {**body["metadata"], **version}, "spec": spec})
    except Conflict:
        return  # somebody else is at it; the next leader looks again
    log.info("Replaced an older CustomResourceDefinition", name=name)


def _version(live: CustomObject) -> int:
    text = live.metadata.annotation(VERSION_ANNOTATION)
    return int(text) if text.isdecimal() else 0


async def _established(api: Api, name: str) -> None:
    try:
        async with asyncio.timeout(ESTABLISHED_SECONDS):
            # A CRD is established within a second, once; a watch for it would be more than the wait.
            while not _is_established(await api.get(CRDS, None, name)):  # noqa: ASYNC110
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as error:
        raise NotEstablished(f"{name} is not served after {ESTABLISHED_SECONDS:.0f} s") from error


def _is_established(crd: CustomObject) -> bool:
    conditions = {one["type"]: one for one in crd.status.get("conditions") or ()}
    names = conditions.get("NamesAccepted", {})
    if names.get("status") == "False":
        raise NotEstablished(f"{crd.metadata.name}: {names.get('message', 'its names are taken')}")
    return bool(conditions.get("Established", {}).get("status") == "True")
