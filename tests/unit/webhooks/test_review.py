import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.webhooks.reviews import Object, body
from tests.unit.webhooks.reviews import review as envelope
from webhooks.protocol import ALLOWED, Request, Response
from webhooks.review import MAX_BODY, MAX_VALUES, review

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


def allow(_request: Request) -> Response:
    return ALLOWED


def answer(content: bytes) -> tuple[int, Object]:
    reply = review(content, allow)
    whole = json.loads(reply.body)
    assert whole["apiVersion"] == "admission.k8s.io/v1"
    assert whole["kind"] == "AdmissionReview"
    response: Object = whole["response"]
    assert "uid" in response or reply.status >= 400
    return reply.status, response


@pytest.mark.parametrize("operation", ["CREATE", "DELETE", "CONNECT"])
def test_allowed_review_echoes_its_uid(operation: str) -> None:
    assert answer(body(operation)) == (200, {"uid": UID, "allowed": True})


def _without(key: str) -> bytes:
    whole = envelope()
    del whole["request"][key]
    return json.dumps(whole).encode()


BAD = {
    "empty": b"",
    "not JSON": b"{",
    "an array": b"[]",
    "null": b"null",
    "no request": b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    "not UTF-8": b'{"request":{"uid":"\xff\xfe"}}',
    "v1beta1": json.dumps(envelope() | {"apiVersion": "admission.k8s.io/v1beta1"}).encode(),
    "another kind": json.dumps(envelope() | {"kind": "ConversionReview"}).encode(),
    "unknown operation": body("PATCH"),
    "no uid": _without("uid"),
    "empty uid": body(uid=""),
    "uid of another type": body(uid=7),
    "no operation": _without("operation"),
    "no object": _without("object"),
    "object of another type": body(object=[]),
    "update without the old object": body("UPDATE"),
    "nested too deep": body().replace(b'"dryRun": false', b'"dryRun": ' + b"[" * 50_000),
    "nested too deep in the object": body(object={"spec": 0}).replace(b"0}", b"[" * 50_000),
    "too big": b" " * (MAX_BODY + 1),
    "too many values": body(object={"spec": [0] * (MAX_VALUES + 1)}),
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_bad_input_is_answered_with_400_and_a_reason(content: bytes) -> None:
    status, response = answer(content)
    assert 400 <= status < 500
    assert response["allowed"] is False
    assert response["status"]["message"]
    assert "Traceback" not in response["status"]["message"]


@pytest.mark.parametrize(
    "name", ["v1beta1", "unknown operation", "object of another type", "too many values"]
)
def test_uid_is_echoed_even_then(name: str) -> None:
    _, response = answer(BAD[name])
    assert response["uid"] == UID


HEAD = body(object={}).split(b'"object": {')[0] + b'"object": {"spec": '
HEAVY = {
    "many lists": HEAD + b"[" + b"[]," * (MAX_BODY // 3 - 1000),
    "many lists, below the limit": HEAD + b"[" + b"[]," * (MAX_VALUES // 2 - 100) + b"[]]}}}",
    "many keys": HEAD + b"{" + b",".join(b'"k%d":1' % i for i in range(MAX_VALUES - 100)) + b"}}}}",
    "one long text": HEAD + b'"' + b"x" * (MAX_BODY - 2000) + b'"}}}',
    "long escapes": HEAD + b'"' + b"\\u00e9" * (MAX_BODY // 6 - 1000) + b'"}}}',
    "white space": HEAD + b" " * (MAX_BODY - 2000) + b"1}}}",
    "a long number": HEAD + b"1" * (MAX_BODY - 2000) + b"}}}",
    "deep lists": HEAD + b"[" * (MAX_BODY - 2000),
    "garbage": b"\xff" * MAX_BODY,
}


@pytest.mark.parametrize("content", HEAVY.values(), ids=HEAVY)
def test_no_body_holds_up_the_loop(content: bytes) -> None:
    assert len(content) <= MAX_BODY
    took = []
    for _ in range(5):
        begin = time.process_time()
        review(content, allow)
        took.append(time.process_time() - begin)
    assert min(took) < 0.05


def test_W33_W35_fault_of_our_own_is_500_and_still_a_review_with_the_uid() -> None:
    def broken(_request: Request) -> Response:
        raise KeyError("secret detail")

    reply = review(body(), broken)
    response = json.loads(reply.body)["response"]
    assert reply.status == 500
    assert response["uid"] == UID
    assert response["allowed"] is False
    assert response["status"]["code"] == 500
    assert isinstance(reply.fault, KeyError)
    assert "secret detail" not in reply.body.decode()


def test_endless_recursion_in_a_rule_is_a_fault_like_any_other() -> None:
    def endless(request: Request) -> Response:
        return endless(request)

    assert review(body(), endless).status == 500


def test_patch_travels_as_base64_with_its_type() -> None:
    def patching(_request: Request) -> Response:
        return Response(allowed=True, patch=b"[]", patch_type="JSONPatch")

    response = json.loads(review(body(), patching).body)["response"]
    assert response == {"uid": UID, "allowed": True, "patch": "W10=", "patchType": "JSONPatch"}


@UNHURRIED
@given(st.binary(max_size=300))
def test_any_bytes_get_an_answer_within_the_protocol(content: bytes) -> None:
    answer(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@UNHURRIED
@given(
    changes=st.dictionaries(
        st.sampled_from(["uid", "kind", "operation", "object", "oldObject", "subResource", "name", "dryRun"]),
        JSON,
        max_size=4,
    )
)
def test_any_request_gets_an_answer_within_the_protocol(changes: dict[str, Any]) -> None:
    status, _ = answer(body(**changes))
    assert status in {200, 400}
