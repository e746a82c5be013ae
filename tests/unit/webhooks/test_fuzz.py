"""Both hooks under anything: clusters as the schema has them, broken ones, any JSON, and bytes that are none.

$FUZZ_REVIEWS says how many reviews are judged at least; it is a small number by default.
"""

import json
import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.api.crd import crds
from tests.unit.api.strategies import anything, by_schema
from tests.unit.webhooks.reviews import Object, patched
from tests.unit.webhooks.reviews import review as envelope
from webhooks.review import review
from webhooks.routes import MUTATE, VALIDATE, hooks

REVIEWS = int(os.environ.get("FUZZ_REVIEWS", "3000"))
REVIEWS_AN_EXAMPLE = 7
HOOKS = hooks()

objects = st.one_of(anything, by_schema("etcdclusters"))


def sent(content: bytes, path: str) -> Object | None:
    """The response to a review, None to what is no review; in any case one within the protocol."""
    reply = review(content, HOOKS[path])
    assert reply.fault is None, reply.fault
    assert reply.status == 200 or 400 <= reply.status < 500
    whole = json.loads(reply.body)
    assert (whole["apiVersion"], whole["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Object = whole["response"]
    assert isinstance(response["allowed"], bool)
    assert ("patch" in response) == ("patchType" in response)
    assert path == MUTATE or "patch" not in response
    return response if reply.status == 200 else None


def encoded(operation: str, obj: Any, old: Any) -> bytes:
    return json.dumps(envelope(operation, object=obj, oldObject=old)).encode("utf-8", "replace")


SCHEMA = crds()["etcdclusters"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def known(path: str, node: Any, schema: Any) -> bool:
    """Whether a field path leads into an object or, for what is missing there, into the CRD's schema."""
    if not path or path in {"metadata.name", ".name"}:
        return True
    if "additionalProperties" in schema and path.startswith("[") and path.index("]") == len(path) - 1:
        return True  # a key that a map does not have yet
    children: list[tuple[str, Any, Any]] = []
    if isinstance(node, dict):
        children += [(key, child, below(schema, key)) for key, child in node.items()]
    if isinstance(node, list):
        children += [(str(index), child, schema.get("items", {})) for index, child in enumerate(node)]
    children += [(key, None, child) for key, child in schema.get("properties", {}).items()]
    for key, child, described in children:
        for part in (f".{key}", f"[{key}]", key):
            if path.startswith(part) and known(path.removeprefix(part), child, described):
                return True
    return False


def below(schema: Any, key: str) -> Any:
    return schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {}


@settings(
    max_examples=-(-REVIEWS // REVIEWS_AN_EXAMPLE),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(new=objects, old=objects, cut=st.integers(min_value=0, max_value=400), noise=st.binary(max_size=20))
def test_whatever_is_sent_the_answer_is_within_the_protocol(
    new: Any, old: Any, cut: int, noise: bytes
) -> None:
    for operation, before in (("CREATE", None), ("UPDATE", old)):
        content = encoded(operation, new, before)
        filled = sent(content, MUTATE)
        if filled is not None:
            after = patched(new, filled)
            again = sent(encoded(operation, after, before), MUTATE)
            assert again is not None
            assert "patch" not in again
        judged = sent(content, VALIDATE)
        if judged is not None and not judged["allowed"]:
            causes = judged["status"]["details"]["causes"]
            assert causes
            assert judged["status"]["code"] == 422
            assert all(known(cause["field"], new, SCHEMA) for cause in causes), causes
    torn = encoded("CREATE", new, None)
    sent(torn[:cut] + noise + torn[cut:], VALIDATE)
