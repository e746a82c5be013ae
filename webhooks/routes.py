"""The two decisions: fill defaults, and judge.

Both are made from the pure rules of the API, the same that the reconcile and the command line use; here is
only what admission adds: which requests are looked at, and how a verdict is told to the API server.

Not looked at: objects on their way out, since finalizers must come off whatever the spec says; kinds and
subresources that are not ours to judge, should a configuration send them; anything but CREATE and UPDATE.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from app.api.kinds import SCALE, Rules, beside, rules_for
from app.api.rules.service import claims_another
from app.api.verdict import Fault
from webhooks.jsonpatch import additions
from webhooks.protocol import ALLOWED, Cause, Details, Request, Response, Status
from webhooks.review import Hook

GROUP: Final = "etcd.database.coreos.com"

MUTATE: Final = "/mutate"
VALIDATE: Final = "/validate"

_WARNING_LENGTH = 120
"""Characters; longer ones may be cut by the API server, which also limits their sum."""

_encoder = msgspec.json.Encoder()

Lookup: TypeAlias = Callable[[Request], Rules | None]
"""The rules that a request goes by, or None for one that is not ours to judge."""

Neighbours: TypeAlias = Callable[[str], Mapping[str, str]]
"""The client Services of a namespace's EtcdClusters by the names of these, as far as they are known."""


def rules_of(neighbours: Neighbours = lambda _namespace: {}) -> Lookup:
    """The rules by the request's kind; those for an EtcdCluster know of its ``neighbours``."""

    def find(request: Request) -> Rules | None:
        if request.sub_resource:
            return SCALE if (request.sub_resource, request.kind.kind) == ("scale", "Scale") else None
        if request.kind.group != GROUP:
            return None
        rules = rules_for(request.kind.kind)
        if (
            rules is not None
            and rules.kind == "EtcdCluster"
            and claims_another(request.object, request.old_object)
        ):
            return beside(rules, neighbours(request.namespace))
        return rules

    return find


def hooks(rules: Lookup | None = None) -> Mapping[str, Hook]:
    """The decision behind each path of the server."""
    lookup = rules or rules_of()
    return {MUTATE: mutating(lookup), VALIDATE: validating(lookup)}


def mutating(rules: Lookup) -> Hook:
    """The hook that fills defaults; it answers with a patch only if something was absent or null."""

    def mutate(request: Request) -> Response:
        ours = _rules(request, rules)
        if ours is None or request.object is None:
            return ALLOWED
        operations = additions(request.object, ours.default(request.object, request.old_object))
        if not operations:
            return ALLOWED
        return Response(allowed=True, patch=_encoder.encode(operations), patch_type="JSONPatch")

    return mutate


def validating(rules: Lookup) -> Hook:
    """The hook that denies what the rules find fault with, all faults at once."""

    def validate(request: Request) -> Response:
        ours = _rules(request, rules)
        if ours is None:
            return ALLOWED
        verdict = ours.validate(request.object, request.old_object)
        if not verdict.faults and not verdict.warnings:
            return ALLOWED
        warnings = tuple(_warning(text) for text in verdict.warnings)
        if not verdict.faults:
            return Response(allowed=True, warnings=warnings)
        return Response(allowed=False, status=_denial(request, verdict.faults), warnings=warnings)

    return validate


def _rules(request: Request, rules: Lookup) -> Rules | None:
    if request.operation not in {"CREATE", "UPDATE"} or request.deleting:
        return None
    return rules(request)


def _denial(request: Request, faults: Sequence[Fault]) -> Status:
    kind = request.kind
    causes = tuple(Cause(reason=fault.reason, message=fault.body, field=fault.path) for fault in faults)
    name = request.name or _generated_name(request)
    told = "; ".join(str(fault) for fault in faults)
    return Status(
        status="Failure",
        code=422,
        reason="Invalid",
        message=f'{kind.kind} "{name}" is invalid: {told}',
        details=Details(name=name, group=kind.group, kind=kind.kind, causes=causes),
    )


def _generated_name(request: Request) -> str:
    metadata = (request.object or {}).get("metadata")
    given = metadata.get("generateName") if isinstance(metadata, dict) else None
    return given if isinstance(given, str) else ""


def _warning(text: str) -> str:
    """One line of printable characters, since it travels in an HTTP header."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= _WARNING_LENGTH else line[: _WARNING_LENGTH - 1] + "…"
