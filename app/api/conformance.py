"""Checks an object against the schema of its CRD, as the API server does before any webhook.

The command line needs it, where no API server speaks first: a misspelt field would be dropped without a
word, a number in quotes refused. It knows what the CRDs use: types, unknown and required fields,
enumerations.
"""

from functools import cache
from typing import Any

from app.api.base import JsonObject
from app.api.crd import crds
from app.api.paths import whole_number
from app.api.verdict import Report

_TYPES = {
    "object": (dict, "an object"),
    "array": (list, "a list"),
    "string": (str, "a text (in quotes if it looks like a number)"),
    "boolean": (bool, "true or false"),
}
_ROOT = {"apiVersion", "kind", "metadata", "status"}


def check_schema(obj: JsonObject, plural: str) -> Report:
    """Check an object's spec against the schema of its kind."""
    report = Report()
    schema = _schema(plural)
    for key in obj.keys() - _ROOT - {"spec"}:
        report.forbidden(key, obj[key], "unknown field, it would be dropped")
    _check(obj.get("spec"), schema["properties"]["spec"], "spec", report)
    return report


@cache
def _schema(plural: str) -> JsonObject:
    schema: JsonObject = crds()[plural]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _check(value: Any, schema: JsonObject, path: str, report: Report) -> None:
    words = _expected(value, schema)
    if words is not None:
        report.wrong_type(path, value, words)
    elif isinstance(value, dict):
        _check_object(value, schema, path, report)
    elif isinstance(value, list) and "items" in schema:
        for position, item in enumerate(value):
            _check(item, schema["items"], f"{path}[{position}]", report)
    elif "enum" in schema and value not in schema["enum"]:
        report.unsupported(path, value, schema["enum"])


def _expected(value: Any, schema: JsonObject) -> str | None:
    """Return what a value should have been, ``None`` if it is of the schema's type."""
    if schema.get("x-kubernetes-int-or-string"):
        return None if isinstance(value, str) or whole_number(value) is not None else "an integer or a text"
    kind = schema["type"]
    if kind == "integer":
        return None if whole_number(value) is not None else "an integer"
    expected, words = _TYPES[kind]
    return None if isinstance(value, expected) else words


def _check_object(value: JsonObject, schema: JsonObject, path: str, report: Report) -> None:
    values = schema.get("additionalProperties")
    if values is not None:
        for key, item in value.items():
            if item is not None:
                _check(item, values, f"{path}[{key}]", report)
        return
    properties = schema.get("properties")
    if properties is None:
        return  # a placeholder of what is not built: denied as a whole
    for key, item in value.items():
        if key not in properties:
            report.forbidden(
                f"{path}.{key}", item, f"unknown field, it would be dropped{_meant(key, properties)}"
            )
        elif item is not None:  # the API server drops it, and what is left out is absent
            _check(item, properties[key], f"{path}.{key}", report)
    for key in schema.get("required", ()):
        if value.get(key) is None:
            report.required(f"{path}.{key}", "must be given")


def _meant(key: str, properties: JsonObject) -> str:
    """Return a hint at the field that differs in case only, e.g. tls and TLS."""
    for known in properties:
        if known.lower() == key.lower():
            return f"; {known} is meant"
    return ""
