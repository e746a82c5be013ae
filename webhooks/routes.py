"""The two decisions: fill defaults, and judge.

Both are made from the pure rules of the API, the same that the reconcile and the command line use; here is
only what admission adds: which requests are looked at, and how a verdict is told to the API server.

Not looked at: objects on their way out, since finalizers must come off whatever the spec says; kinds and
subresources that are not ours to judge, should a configuration send them; anything but CREATE and UPDATE.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from webhooks.jsonpatch import additions
from webhooks.protocol import ALLOWED, Cause, Details, Object, Request, Response, Status
from webhooks.review import Hook

GROUP: Final = "etcd.database.coreos.com"
KINDS: Final = frozenset({"EtcdCluster", "EtcdBackup", "EtcdRestore"})

MUTATE: Final = "/mutate"
VALIDATE: Final = "/validate"

_WARNING_LENGTH = 120
"""Characters; longer ones may be cut by the API server, which also limits their sum."""

_encoder = msgspec.json.Encoder()


class Fault(Protocol):
    """One thing that is wrong with an object."""

    @property
    def path(self) -> str:
        """The field, such as ``spec.size``."""

    @property
    def reason(self) -> str:
        """A cause type of Kubernetes, such as ``FieldValueInvalid``."""

    @property
    def value(self) -> Any:
        """What was given."""

    @property
    def message(self) -> str:
        """What is wrong with it."""

    @property
    def nearest(self) -> Any:
        """The nearest value that would do, or None where there is none to name."""


class Verdict(Protocol):
    """What the rules say of an object."""

    @property
    def faults(self) -> Sequence[Fault]:
        """Empty if the object may be stored."""

    @property
    def warnings(self) -> Sequence[str]:
        """What is allowed but unwise."""


Default: TypeAlias = Callable[[Object, Object | None], Object]
Validate: TypeAlias = Callable[[Object, Object | None], Verdict]


def hooks(*, default: Default, validate: Validate) -> Mapping[str, Hook]:
    """The decision behind each path of the server."""
    return {MUTATE: mutating(default), VALIDATE: validating(validate)}


def mutating(default: Default) -> Hook:
    """The hook that fills defaults; it answers with a patch only if something was absent or null."""

    def mutate(request: Request) -> Response:
        if not _judged(request) or request.object is None:
            return ALLOWED
        operations = additions(request.object, default(request.object, request.old_object))
        if not operations:
            return ALLOWED
        return Response(allowed=True, patch=_encoder.encode(operations), patch_type="JSONPatch")

    return mutate


def validating(validate: Validate) -> Hook:
    """The hook that denies what the rules find fault with, all faults at once."""

    def judge(request: Request) -> Response:
        if not _judged(request) or request.object is None:
            return ALLOWED
        verdict = validate(request.object, request.old_object)
        if not verdict.faults and not verdict.warnings:
            return ALLOWED
        warnings = tuple(_warning(text) for text in verdict.warnings)
        if not verdict.faults:
            return Response(allowed=True, warnings=warnings)
        return Response(allowed=False, status=_denial(request, verdict.faults), warnings=warnings)

    return judge


def _judged(request: Request) -> bool:
    return (
        request.operation in {"CREATE", "UPDATE"}
        and request.kind.group == GROUP
        and request.kind.kind in KINDS
        and not request.sub_resource
        and not request.deleting
    )


def _denial(request: Request, faults: Sequence[Fault]) -> Status:
    kind = request.kind
    causes = tuple(Cause(reason=fault.reason, message=fault.message, field=fault.path) for fault in faults)
    name = request.name or _generated_name(request.object)
    told = "; ".join(f"{cause.field}: {cause.message}" for cause in causes)
    return Status(
        status="Failure",
        code=422,
        reason="Invalid",
        message=f"{kind.kind} {name!r} is invalid: {told}",
        details=Details(name=name, group=kind.group, kind=kind.kind, causes=causes),
    )


def _generated_name(candidate: Object | None) -> str:
    metadata = (candidate or {}).get("metadata")
    given = metadata.get("generateName") if isinstance(metadata, dict) else None
    return given if isinstance(given, str) else ""


def _warning(text: str) -> str:
    """One line of printable characters, since it travels in an HTTP header."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= _WARNING_LENGTH else line[: _WARNING_LENGTH - 1] + "…"
