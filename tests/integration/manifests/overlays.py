"""Objects of manifests beside what an API server made of them."""

import json
from typing import Any

import yaml

from tests.cluster.cluster import Cluster
from tests.e2e.kube import Object


def live(control_plane: Cluster, objects: list[Object]) -> list[Object]:
    """The objects as they are now."""
    text = yaml.safe_dump_all(objects)
    found: Object = json.loads(control_plane.kubectl("get", "-f-", "--output=json", text=text))
    items: list[Object] = found["items"]
    return items


def differences(wanted: Any, found: Any, path: str = "") -> list[str]:
    """Where an object isn't what was asked for; what was added to it doesn't count."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [
            text
            for key, value in wanted.items()
            for text in differences(value, found.get(key), f"{path}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        pairs = enumerate(zip(wanted, found, strict=True))
        return [text for index, (a, b) in pairs for text in differences(a, b, f"{path}[{index}]")]
    return [] if wanted == found else [f"{path}: {wanted!r} is {found!r}"]
