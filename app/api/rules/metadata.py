"""The cluster's name, and the labels and annotations of its Pods."""

import re
from functools import lru_cache
from typing import Any

from app.api.base import GROUP, JsonObject
from app.api.names import (
    MAX_CLUSTER_NAME,
    SUFFIX_LENGTH,
    is_label,
    nearest_cluster_name,
    subdomain_fault,
)
from app.api.paths import object_at
from app.api.verdict import Report

_NAME = "metadata.name"
_GENERATED = 5
"""Characters that the API server appends to metadata.generateName."""
_TOO_LONG = (
    f"must be at most {MAX_CLUSTER_NAME} characters: a member's name is the cluster's, a hyphen and "
    f"{SUFFIX_LENGTH} more, and a host name may have 63"
)
_NO_LABEL = "must be a DNS-1035 label: lower-case letters, digits and '-', a letter first and no '-' last"

_LABEL_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL_WORDS = (
    "must be at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit"
)
_KEY_NAME = f"the key {_LABEL_WORDS}"
_KEY_PREFIX = "the part of the key before '/' must be a DNS-1123 subdomain"
_KEY_LENGTH = 253 + len("/") + 63
_RESERVED_LABELS = "app"
_RESERVED_PREFIX = "etcd_"
_RESERVED_ANNOTATION = "etcd.version"
_OURS = f"{GROUP}/"
_ANNOTATIONS_SIZE = 256 * 1024


def check_name(obj: JsonObject, report: Report) -> None:
    """Check an EtcdCluster's ``metadata.name``, or ``generateName`` where there is no name yet."""
    path, name = _named(obj)
    limit = MAX_CLUSTER_NAME if path == _NAME else MAX_CLUSTER_NAME - _GENERATED
    if name is None or name == "":
        report.required(path, "a cluster needs a name")
    elif not isinstance(name, str):
        report.wrong_type(path, name, "a string")
    elif len(name) > limit:
        words = (
            _TOO_LONG if path == _NAME else f"must be at most {limit} characters, {_GENERATED} are appended"
        )
        report.invalid(path, name, words, nearest=nearest_cluster_name(name)[:limit].rstrip("-"))
    elif not is_label(name if path == _NAME else f"{name}0"):
        report.invalid(path, name, _NO_LABEL, nearest=nearest_cluster_name(name))


def check_object_name(obj: JsonObject, report: Report) -> None:
    """Check the name of an EtcdBackup or EtcdRestore, which no other object is named after."""
    path, name = _named(obj)
    if name is None or name == "":
        report.required(path, "an object needs a name")
    elif not isinstance(name, str):
        report.wrong_type(path, name, "a string")
    elif fault := subdomain_fault(name if path == _NAME else f"{name}0"):
        report.invalid(path, name, fault)


def _named(obj: JsonObject) -> tuple[str, Any]:
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name")
    if not name and metadata.get("generateName"):
        return "metadata.generateName", metadata["generateName"]
    return _NAME, name


def check_labels(pod: JsonObject, report: Report) -> None:
    """Check ``spec.pod.labels``."""
    for key, value in _entries(pod, "labels", report):
        path = f"spec.pod.labels[{key}]"
        if is_reserved(key):
            message = (
                f'"app", "{_RESERVED_PREFIX}*" and "{_OURS}*" are the operator\'s own labels; leave it out'
            )
            report.forbidden(path, value, message)
        else:
            check_label_key(path, key, report)
            check_label_value(path, value, report)


def is_reserved(key: str) -> bool:
    """Whether a label is one of the operator's own."""
    return key == _RESERVED_LABELS or key.startswith((_RESERVED_PREFIX, _OURS))


def check_annotations(pod: JsonObject, report: Report) -> None:
    """Check ``spec.pod.annotations``."""
    total = 0
    for key, value in _entries(pod, "annotations", report):
        path = f"spec.pod.annotations[{key}]"
        total += len(key) + (len(value) if isinstance(value, str) else 0)
        if key == _RESERVED_ANNOTATION or key.startswith(_OURS):
            message = (
                f'"{_RESERVED_ANNOTATION}" and "{_OURS}*" are the operator\'s own annotations; leave it out'
            )
            report.forbidden(path, value, message)
        else:
            check_label_key(path, key.lower(), report)
            if not isinstance(value, str):
                report.wrong_type(path, value, "a string")
    if total > _ANNOTATIONS_SIZE:
        report.invalid("spec.pod.annotations", total, f"must be at most {_ANNOTATIONS_SIZE} bytes in all")


def check_node_selector(pod: JsonObject, report: Report) -> None:
    """Check ``spec.pod.nodeSelector``."""
    for key, value in _entries(pod, "nodeSelector", report):
        path = f"spec.pod.nodeSelector[{key}]"
        check_label_key(path, key, report)
        check_label_value(path, value, report)


def _entries(pod: JsonObject, key: str, report: Report) -> list[tuple[str, Any]]:
    return list((object_at(pod, key, "spec.pod", report) or {}).items())


def check_label_key(path: str, key: str, report: Report) -> None:
    """Check a qualified name: an optional DNS prefix, a slash, and a name of at most 63 characters."""
    for message in _known_key_faults(key) if len(key) <= _KEY_LENGTH else _key_faults(key):
        report.invalid(path, key, message)


def _key_faults(key: str) -> tuple[str, ...]:
    prefix, slash, name = key.rpartition("/")
    part = len(name) > 63 or _LABEL_PART.fullmatch(name) is None
    domain = slash and subdomain_fault(prefix)
    return (*((_KEY_NAME,) if part else ()), *((_KEY_PREFIX,) if domain else ()))


# The same few keys come again and again; those that are too long to be valid aren't remembered.
_known_key_faults = lru_cache(maxsize=1024)(_key_faults)


@lru_cache(maxsize=1024)
def _is_label_value(value: str) -> bool:
    return not value or _LABEL_PART.fullmatch(value) is not None


def check_label_value(path: str, value: Any, report: Report) -> None:
    """Check the value of a label."""
    if not isinstance(value, str):
        report.wrong_type(path, value, "a string in quotes")
    elif len(value) > 63 or not _is_label_value(value):
        nearest = re.sub(r"[^-A-Za-z0-9_.]+", "-", value)[:63].strip("-_.")
        report.invalid(path, value, _LABEL_WORDS, nearest=nearest)
