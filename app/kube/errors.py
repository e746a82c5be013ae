"""What can go wrong between the operator and the API server, as one tree of errors.

Every failure of a call is one of these classes; aiohttp's, ssl's and asyncio's own errors stay inside the
client. An answer of the API server is told by its HTTP status together with the ``reason`` of its Status
object, since one code has several meanings: 409 is both ``AlreadyExists`` and ``Conflict``, 504 is both a
slow server and a resourceVersion it hasn't reached.
(https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/)
"""

# ruff: noqa: N818 -- the errors are named as Kubernetes names their reasons

import msgspec

from app.errors import OperatorError


class StatusCause(msgspec.Struct, frozen=True):
    """One reason among several why an object was refused."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a Status that a program reads."""

    name: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] | None = None
    retry_after_seconds: float = 0


class Status(msgspec.Struct, frozen=True):
    """The API server's answer to a call that failed, or that left no object to return."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


class KubeError(OperatorError):
    """A call to the API server failed.

    ``code`` is the HTTP status, 0 where there was no answer. ``retry_after`` is how many seconds the
    server asked to be left alone, 0 where it asked nothing.
    """

    code: int = 0

    def __init__(
        self, message: str, *, code: int | None = None, status: Status | None = None, retry_after: float = 0
    ) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.status = status
        self.retry_after = retry_after


class NotFound(KubeError):
    """The object, or its kind, doesn't exist."""

    code = 404


class AlreadyExists(KubeError):
    """An object of that name exists."""

    code = 409


class Conflict(KubeError):
    """The object has changed since the version the call was based on, or a precondition didn't hold."""

    code = 409


class Expired(KubeError):
    """The resourceVersion, or the token of a page, can't be continued from: list anew, from ``""``."""

    code = 410


class Invalid(KubeError):
    """The API server or an admission webhook refused the object; 400, 413, 415, 422."""

    code = 422


class Forbidden(KubeError):
    """The operator has no right to do this, or an admission rule is against it."""

    code = 403


class Unauthorized(KubeError):
    """The API server doesn't accept the operator's credentials, also after reading them again."""

    code = 401


class TooManyRequests(KubeError):
    """The API server sheds load and didn't begin with the call; ``retry_after`` seconds to wait."""

    code = 429


class ServerError(KubeError):
    """The API server failed; whether the call took effect is unknown."""

    code = 500


class Unreachable(KubeError):
    """No connection, or it broke; whether the call took effect is unknown."""


class DeadlineExceeded(KubeError):
    """No answer in time; whether the call took effect is unknown."""


class NotLeading(KubeError):
    """The call wasn't sent, since the Lease has run out or has been lost."""


class Undecodable(KubeError):
    """The answer isn't what its type promises."""


_BY_CODE: dict[int, type[KubeError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooManyRequests,
}


def _class_of(code: int, status: Status) -> type[KubeError]:
    causes = (status.details.causes if status.details else None) or ()
    if any(cause.reason == "ResourceVersionTooLarge" for cause in causes):
        # The server, restored from a backup perhaps, is behind the version asked for.
        return Expired
    match status.reason:
        case "AlreadyExists":
            return AlreadyExists
        case "Expired" | "Gone":
            return Expired
        case _:
            return _BY_CODE.get(code, ServerError if code >= 500 else Invalid)


def error_of(code: int, body: bytes, *, retry_after: float = 0, doing: str = "") -> KubeError:
    """Turn an answer of HTTP status ``code`` into the error to raise.

    ``doing`` is what was asked for, such as ``GET /api/v1/nodes``; it begins the message.
    """
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # A proxy or load balancer in between answers in its own words.
        status = Status(message=body[:200].decode(errors="replace").strip())
    asked = retry_after or (status.details.retry_after_seconds if status.details else 0)
    text = f"{doing}: {code} {status.reason}: {status.message}".removeprefix(": ")
    return _class_of(code, status)(text, code=code, status=status, retry_after=asked)
