"""AdmissionReview ``admission.k8s.io/v1``: the part of it that is used, as it travels.

The objects under review stay plain JSON, since they may hold anything: the mutating webhook runs before the
schema is checked (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/).
"""

from typing import Any, Final, Literal, TypeAlias

import msgspec

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"

Object: TypeAlias = dict[str, Any]
Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class GroupVersionKind(msgspec.Struct, frozen=True):
    """What the object is."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """What is to be reviewed."""

    uid: str
    operation: Operation
    kind: GroupVersionKind = GroupVersionKind()
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    object: Object | None = None
    old_object: Object | None = None

    @property
    def deleting(self) -> bool:
        """Whether the stored object is on its way out, held by finalizers alone."""
        metadata = (self.old_object or {}).get("metadata")
        return isinstance(metadata, dict) and metadata.get("deletionTimestamp") is not None


class Review(msgspec.Struct, frozen=True, rename="camel"):
    """The envelope of a request."""

    api_version: str
    kind: str
    request: Request | None = None


class Cause(msgspec.Struct, frozen=True):
    """One fault of one field."""

    reason: str
    message: str
    field: str


class Details(msgspec.Struct, frozen=True, omit_defaults=True):
    """The faults of an object, for programs; kubectl prints them one a line."""

    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[Cause, ...] = ()


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why it was not allowed."""

    code: int
    reason: str
    message: str
    status: str | None = None
    details: Details | None = None


class Response(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer without its envelope and uid."""

    allowed: bool
    uid: str = ""
    status: Status | None = None
    warnings: tuple[str, ...] = ()
    patch: bytes | None = None
    """A JSON patch; bytes are written as base64, which is what the API server expects."""
    patch_type: str | None = None


class Answer(msgspec.Struct, frozen=True, rename="camel"):
    """The envelope of an answer."""

    response: Response
    api_version: str = API_VERSION
    kind: str = KIND


ALLOWED: Final = Response(allowed=True)
