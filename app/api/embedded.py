"""Structural schemas of Kubernetes' own types, from an extract of the API server's OpenAPI document.

The CRDs embed types such as Affinity or EnvVar in full, so that the API server checks them and ``kubectl
explain`` knows them. Their definition is ``api/openapi-spec/v3/api__v1_openapi.json`` of the Kubernetes
release named in the extract. The extract holds what the CRDs need and nothing else; it is made by::

    python -m app.api.embedded <that file> <the release, for example 1.34.4>

Descriptions are cut to their first sentence: a CRD has to stay below the 256 KiB that an annotation may hold,
or client-side ``kubectl apply`` refuses it.
"""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from app.api.base import JsonObject

_CORE = "io.k8s.api.core.v1"
ROOTS = tuple(
    f"{_CORE}.{name}"
    for name in (
        "Affinity",
        "EnvVar",
        "PersistentVolumeClaimSpec",
        "PodSecurityContext",
        "ResourceRequirements",
        "SecurityContext",
        "Toleration",
        "TopologySpreadConstraint",
    )
)
"""The types that the models embed."""

_EXTRACT = "kubernetes-openapi.json"
_KEPT = {
    "description", "enum", "format", "properties", "required", "type", "additionalProperties", "items",
    "x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type",
}  # fmt: skip
_NUMBER = r"([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)"
_QUANTITY_PATTERN = rf"^[+-]?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?{_NUMBER}))?$"
_INT_OR_STRING: JsonObject = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
_LEAVES: dict[str, JsonObject] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        **_INT_OR_STRING,
        "pattern": _QUANTITY_PATTERN,
        "maxLength": 64,
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {**_INT_OR_STRING, "maxLength": 64},
}
"""Types whose OpenAPI says less than the API server's own code does."""

_BOUNDED_ITEMS = 64
_BOUNDED_PROPERTIES = 64
_BOUNDED_LENGTH = 4096


def schema_of(name: str) -> JsonObject:
    """Return the structural schema of a Kubernetes type, e.g. ``io.k8s.api.core.v1.Affinity``."""
    return _inline({"$ref": name}, _extract()["schemas"])


def kubernetes_release() -> str:
    """Return the Kubernetes release that the extract was taken from."""
    release: str = _extract()["kubernetes"]
    return release


@cache
def _extract() -> JsonObject:
    text = resources.files("app.api").joinpath(_EXTRACT).read_text(encoding="utf-8")
    extract: JsonObject = json.loads(text)
    return extract


def _inline(node: JsonObject, schemas: JsonObject) -> JsonObject:
    if "$ref" in node:
        name = node["$ref"]
        target = _LEAVES.get(name) or _inline(schemas[name], schemas)
        described = {"description": node["description"]} if "description" in node else {}
        return {**target, **described}
    schema = {key: value for key, value in node.items() if key in _KEPT}
    if "properties" in node:
        schema["properties"] = {k: _inline(v, schemas) for k, v in node["properties"].items()}
    if isinstance(node.get("additionalProperties"), dict):
        schema["additionalProperties"] = _inline(node["additionalProperties"], schemas)
        schema["maxProperties"] = _BOUNDED_PROPERTIES
    if "items" in node:
        schema["items"] = _inline(node["items"], schemas)
        schema["maxItems"] = _BOUNDED_ITEMS
    if schema.get("type") == "string" and "format" not in schema and "enum" not in schema:
        schema["maxLength"] = _BOUNDED_LENGTH
    return schema


def extract(document: JsonObject, release: str) -> JsonObject:
    """Cut an OpenAPI v3 document of the API server down to what the embedded types need."""
    schemas: JsonObject = document["components"]["schemas"]
    kept: JsonObject = {}
    pending = list(ROOTS)
    while pending:
        name = pending.pop()
        if name not in kept and name not in _LEAVES:
            kept[name] = _trim(schemas[name])
            pending += _references(kept[name])
    source = "api/openapi-spec/v3/api__v1_openapi.json of k8s.io/kubernetes"
    return {"kubernetes": release, "source": source, "schemas": dict(sorted(kept.items()))}


def _trim(node: Any) -> Any:
    """Drop what a CRD may not have, and write references by name."""
    if isinstance(node, list):
        return [_trim(item) for item in node]
    if not isinstance(node, dict):
        return node
    merged = {k: v for k, v in node.items() if k not in {"allOf", "default"}}
    for part in node.get("allOf", ()):
        merged = {**part, **merged}
    trimmed: JsonObject = {}
    for key, value in merged.items():
        if key == "$ref":
            trimmed[key] = value.rsplit("/", 1)[-1]
        elif key == "description":
            trimmed[key] = first_sentence(value)
        elif key == "properties":
            trimmed[key] = {name: _trim(schema) for name, schema in value.items()}
        elif key in _KEPT:
            trimmed[key] = _trim(value)
    return trimmed


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from _references(value)


def first_sentence(text: str) -> str:
    """Return the first sentence of a description, on one line."""
    line = " ".join(text.split())
    return re.split(r"(?<=[^.][.])\s(?=[A-Z\"`])", line, maxsplit=1)[0]


def main(arguments: list[str]) -> int:
    """Write the extract anew from an OpenAPI document and the name of its release."""
    source, release = arguments
    document = json.loads(Path(source).read_text(encoding="utf-8"))
    text = json.dumps(extract(document, release), indent=1, sort_keys=True) + "\n"
    Path(__file__).with_name(_EXTRACT).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
