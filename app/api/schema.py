"""Turns the JSON schema of a model into a structural schema, as a CRD wants it.

pydantic writes JSON schema: references, ``anyOf`` with ``null``, titles, defaults. A structural schema has
none of them: references are inlined, "or null" means optional, and there are no defaults, since those of a
CRD would apply on every read and hide whether a user had said something.
"""

from typing import Any

from pydantic import BaseModel

from app.api import embedded
from app.api.base import JsonObject

_DROPPED = {"title", "default", "$defs", "anyOf", "$ref"}


def structural(model: type[BaseModel]) -> JsonObject:
    """Return the structural schema of a model, under its API spellings.

    Raises ``ValueError`` for a union, which has no structural form.
    """
    document = model.model_json_schema(by_alias=True)
    return _convert(document, document.get("$defs", {}))


def _convert(node: JsonObject, definitions: JsonObject) -> JsonObject:
    own = {key: value for key, value in node.items() if key not in _DROPPED}
    if "$ref" in node:
        own = {**_convert(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions), **own}
    if "anyOf" in node:
        own = {**_convert(_without_null(node["anyOf"]), definitions), **own}
    if "x-kubernetes-type" in own:
        return {**embedded.schema_of(own.pop("x-kubernetes-type")), **own}
    if "properties" in node:
        own["properties"] = {name: _convert(child, definitions) for name, child in node["properties"].items()}
    if isinstance(node.get("additionalProperties"), dict):
        own["additionalProperties"] = _convert(node["additionalProperties"], definitions)
    elif "additionalProperties" in own and not isinstance(own["additionalProperties"], dict):
        del own["additionalProperties"]
    if "items" in node:
        own["items"] = _convert(node["items"], definitions)
    return own


def _without_null(choices: list[JsonObject]) -> JsonObject:
    typed = [choice for choice in choices if choice.get("type") != "null"]
    if len(typed) != 1:
        raise ValueError(f"a union has no structural form: {choices}")
    return typed[0]


def at(schema: JsonObject, path: str) -> JsonObject:
    """Return the part of a structural schema at a path such as ``spec.pod.etcdEnv[].name``.

    Raises ``KeyError`` where the schema has no such path.
    """
    node: Any = schema
    for step in path.split(".") if path else ():
        name = step.removesuffix("[]")
        node = node["properties"][name]
        if step.endswith("[]"):
            node = node["items"]
    found: JsonObject = node
    return found
