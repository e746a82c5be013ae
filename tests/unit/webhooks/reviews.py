"""AdmissionReviews as the API server sends them."""

import base64
import json
from typing import Any

Object = dict[str, Any]


def cluster(**spec: Any) -> Object:
    return {
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "metadata": {"name": "example", "namespace": "default"},
        "spec": spec,
    }


def review(operation: str = "CREATE", **request: Any) -> Object:
    whole: Object = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "etcd.database.coreos.com", "version": "v1beta2", "kind": "EtcdCluster"},
        "resource": {"group": "etcd.database.coreos.com", "version": "v1beta2", "resource": "etcdclusters"},
        "name": "example",
        "namespace": "default",
        "operation": operation,
        "userInfo": {"username": "admin", "groups": ["system:masters"]},
        "object": cluster(),
        "oldObject": None,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}


def body(operation: str = "CREATE", **request: Any) -> bytes:
    return json.dumps(review(operation, **request)).encode()


def patched(before: Any, response: Object) -> Any:
    """The object after the patch of a response, by the few operations that may be in it."""
    after = json.loads(json.dumps(before))
    if "patch" not in response:
        return after
    for operation in json.loads(base64.b64decode(response["patch"])):
        *parents, last = [_unescape(part) for part in operation["path"].split("/")[1:]]
        target = after
        for part in parents:
            target = target[int(part)] if isinstance(target, list) else target[part]
        assert operation["op"] == ("replace" if last in target else "add")
        target[last] = operation["value"]
    return after


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
