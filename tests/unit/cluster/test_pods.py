import json
from typing import Any

import pytest

from tests.cluster.errors import HarnessError
from tests.cluster.pods import Pod, decode_list


def _pod(**spec: Any) -> dict[str, Any]:
    containers = [
        {"name": "first", "containerID": "containerd://aaa", "image": "x"},
        {"name": "second", "containerID": "containerd://bbb", "image": "y"},
        {"name": "waiting", "image": "z"},
    ]
    status = {"podIP": "10.0.0.1", "containerStatuses": containers}
    return {"kind": "Pod", "metadata": {"name": "p", "uid": "u"}, "spec": spec, "status": status}


def test_a_pod() -> None:
    pod = Pod.decode(json.dumps(_pod(nodeName="node1")).encode())
    assert (pod.name, pod.node, pod.address) == ("p", "node1", "10.0.0.1")
    assert pod.container_id() == "aaa"
    assert pod.container_id("second") == "bbb"
    for name in ("waiting", "nobody"):
        with pytest.raises(HarnessError, match=f"has no container {name}"):
            pod.container_id(name)


def test_a_pod_without_a_node() -> None:
    data = json.dumps(_pod()).encode()
    with pytest.raises(HarnessError, match="isn't bound"):
        Pod.decode(data)
    assert decode_list(b'{"items": [%s]}' % data) == []
