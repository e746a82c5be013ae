"""From the bytes of a request to the bytes of its answer: pure, and total over all bytes.

Whatever arrives is answered within the protocol. A review that can be read gets HTTP 200, allowed or not;
what can't be read gets a status of the 400 class; a fault of our own gets 500, which the API server treats as
"the webhook failed", so that the configuration's failurePolicy decides. The uid is echoed wherever one can
be found, since an answer without it is an error of its own to the API server.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from webhooks.protocol import API_VERSION, KIND, Answer, Request, Response, Review, Status

MAX_BODY = 8 * 1024 * 1024
"""Bytes. The API server takes objects of 3 MiB, and a review carries two of them."""

MAX_VALUES = 100_000
"""How many values a body may hold, as its commas and brackets tell without decoding it: more would hold up
the event loop for too long. Objects of the largest size that etcd stores have a fraction of it."""

Hook: TypeAlias = Callable[[Request], Response]
"""A decision; what it raises is a fault of our own."""

_decoder = msgspec.json.Decoder(Review)
_encoder = msgspec.json.Encoder()


class _UidOnly(msgspec.Struct):
    uid: Any = ""


class _RequestOnly(msgspec.Struct):
    request: _UidOnly | None = None


_uid_decoder = msgspec.json.Decoder(_RequestOnly)


class Reply(msgspec.Struct, frozen=True):
    """What goes back: an HTTP status, a JSON body, and the fault of our own behind a 500."""

    status: int
    body: bytes
    fault: Exception | None = None


class _BadReviewError(Exception):
    """A review that can't be judged."""

    def __init__(self, message: str, *, code: int = 400, uid: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.uid = uid


def review(body: bytes, hook: Hook) -> Reply:
    """Answer one review; never raises."""
    try:
        request = _read(body)
    except _BadReviewError as error:
        return refuse(error.code, str(error), uid=error.uid)
    try:
        return Reply(200, _encode(hook(request), request.uid))
    except Exception as error:  # noqa: BLE001 - a rule that breaks must not break the protocol
        status = Status(
            code=500, reason="InternalError", message=f"The webhook failed: {type(error).__name__}"
        )
        return Reply(500, _encode(Response(allowed=False, status=status), request.uid), fault=error)


def refuse(code: int, message: str, *, uid: str = "") -> Reply:
    """An answer of the 400 class, within the protocol."""
    status = Status(code=code, reason="BadRequest", message=message)
    return Reply(code, _encode(Response(allowed=False, status=status), uid))


def _read(body: bytes) -> Request:
    if not body:
        raise _BadReviewError("The request has no body")
    if len(body) > MAX_BODY:
        raise _BadReviewError(f"The review has more than {MAX_BODY} bytes", code=413)
    if len(body) > MAX_VALUES and body.count(b",") + body.count(b"[") + body.count(b"{") > MAX_VALUES:
        raise _BadReviewError(f"The review has more than {MAX_VALUES} values", code=413, uid=_uid(body))
    try:
        read = _decoder.decode(body)
    except RecursionError as error:
        raise _BadReviewError("The review is nested too deep") from error
    except ValueError as error:  # msgspec's own errors and broken UTF-8 alike
        raise _BadReviewError(f"The review can't be read: {error}", uid=_uid(body)) from error
    request = read.request
    if request is None or not request.uid:
        raise _BadReviewError("The review has no request.uid")
    if read.api_version != API_VERSION or read.kind != KIND:
        what = f"{read.api_version} {read.kind}"[:100]
        raise _BadReviewError(
            f"{what} is not {API_VERSION} {KIND}, the only one spoken here", uid=request.uid
        )
    if _incomplete(request):
        raise _BadReviewError(f"The {request.operation} review lacks an object", uid=request.uid)
    return request


def _incomplete(request: Request) -> bool:
    match request.operation:
        case "CREATE":
            return request.object is None
        case "UPDATE":
            return request.object is None or request.old_object is None
        case "DELETE" | "CONNECT":
            return False


def _encode(response: Response, uid: str) -> bytes:
    return _encoder.encode(Answer(msgspec.structs.replace(response, uid=uid)))


def _uid(body: bytes) -> str:
    try:
        request = _uid_decoder.decode(body).request
    except (RecursionError, ValueError):
        return ""
    return request.uid if request is not None and isinstance(request.uid, str) else ""
