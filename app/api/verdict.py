"""What validation answers: every fault at once, in the vocabulary of Kubernetes' ``field.Error``.

A fault names its field, the value it found and the nearest valid value, because a message that only says
"invalid" makes people guess. Its parts go into an admission response as a cause; its text reads the same as
one of the API server's own.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from app.api.base import JsonObject

_SHOWN = 200
WARNING_LENGTH = 120
"""Kubernetes asks for warnings of at most 120 characters, or it cuts them."""


class Reason(StrEnum):
    """Why a field is denied (the cause types of the Kubernetes API)."""

    INVALID = "FieldValueInvalid"
    TYPE = "FieldValueTypeInvalid"
    REQUIRED = "FieldValueRequired"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    DUPLICATE = "FieldValueDuplicate"
    TOO_LONG = "FieldValueTooLong"


_TITLES = {
    Reason.INVALID: "Invalid value",
    Reason.TYPE: "Invalid value",
    Reason.REQUIRED: "Required value",
    Reason.NOT_SUPPORTED: "Unsupported value",
    Reason.FORBIDDEN: "Forbidden",
    Reason.DUPLICATE: "Duplicate value",
    Reason.TOO_LONG: "Too long",
}
_WITHOUT_VALUE = {Reason.REQUIRED, Reason.FORBIDDEN, Reason.TOO_LONG}


@dataclass(frozen=True, slots=True)
class Fault:
    """One field that is not as it has to be."""

    path: str
    reason: Reason
    value: Any = field(hash=False)
    message: str
    """Says what would be valid, the nearest valid value included."""
    nearest: Any = field(default=None, hash=False)
    """The nearest valid value as JSON; ``None`` where there is none (leave the field out)."""

    @property
    def body(self) -> str:
        """The message with its title and value, as in ``Invalid value: 8: must be …``."""
        title = _TITLES[self.reason]
        shown = "" if self.reason in _WITHOUT_VALUE else f": {shorten(self.value)}"
        return f"{title}{shown}: {self.message}"

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"

    def cause(self) -> JsonObject:
        """Return the fault as a ``StatusCause``."""
        return {"reason": self.reason.value, "message": self.body, "field": self.path}


@dataclass(frozen=True, slots=True)
class Verdict:
    """All faults and warnings of one object; allowed when there is no fault."""

    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether the object may be stored."""
        return not self.faults


ALLOWED = Verdict()


class Report:
    """Collects what the rules find."""

    __slots__ = ("faults", "warnings")

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.warnings: list[str] = []

    def _add(self, path: str, reason: Reason, value: Any, message: str, nearest: Any) -> None:
        if nearest is not None:
            message = f"{message}; the nearest valid value is {shorten(nearest)}"
        if not path.isascii():
            path = _printable(path)
        self.faults.append(Fault(path, reason, value, message, nearest))

    def invalid(self, path: str, value: Any, message: str, *, nearest: Any = None) -> None:
        """Report a value that breaks a rule."""
        self._add(path, Reason.INVALID, value, message, nearest)

    def wrong_type(self, path: str, value: Any, expected: str) -> None:
        """Report a value of another JSON type than ``expected``, e.g. "an integer"."""
        self._add(path, Reason.TYPE, value, f"must be {expected}", None)

    def required(self, path: str, message: str, *, nearest: Any = None) -> None:
        """Report a value that is missing."""
        self._add(path, Reason.REQUIRED, None, message, nearest)

    def unsupported(self, path: str, value: Any, choices: Iterable[str], *, nearest: Any = None) -> None:
        """Report a value that is none of the choices."""
        listed = ", ".join(f'"{choice}"' for choice in choices)
        self._add(path, Reason.NOT_SUPPORTED, value, f"supported values: {listed}", nearest)

    def forbidden(self, path: str, value: Any, message: str, *, nearest: Any = None) -> None:
        """Report a value that may not be given, or not be changed."""
        self._add(path, Reason.FORBIDDEN, value, message, nearest)

    def duplicate(self, path: str, value: Any, message: str) -> None:
        """Report a value that occurs twice."""
        self._add(path, Reason.DUPLICATE, value, message, None)

    def warn(self, text: str) -> None:
        """Say that something is allowed but unwise."""
        self.warnings.append(text if len(text) <= WARNING_LENGTH else f"{text[: WARNING_LENGTH - 1]}…")

    @property
    def found(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.faults or self.warnings)

    def verdict(self) -> Verdict:
        """Return what was found."""
        if not self.found:
            return ALLOWED
        return Verdict(tuple(self.faults), tuple(dict.fromkeys(self.warnings)))

    def forgive(self, before: "Report") -> None:
        """Drop what was found in the stored object too: an update is not denied for what it does not change.

        Two faults are the same when field, reason, value and text are; the position in a list does not count.
        """
        known = Counter(map(_identity, before.faults))
        kept = []
        for fault in self.faults:
            identity = _identity(fault)
            if known[identity] > 0:
                known[identity] -= 1
            else:
                kept.append(fault)
        self.faults = kept
        stored = set(before.warnings)
        self.warnings = [warning for warning in self.warnings if warning not in stored]


def _identity(fault: Fault) -> tuple[str, str, str, str]:
    path = fault.path
    if "[" in path:
        path = "".join(
            part if not part[:1].isdigit() else "]" + part.partition("]")[2] for part in path.split("[")
        )
    return path, fault.reason, fault.message, _json(fault.value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def shorten(value: Any) -> str:
    """Return a value as JSON, cut to what is worth reading."""
    text = _json(value)
    return _printable(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")


def _printable(text: str) -> str:
    """Return a text that can be sent.

    JSON may hold halves of surrogate pairs, which UTF-8 has no code for.
    """
    return text.encode("utf-8", "backslashreplace").decode()
