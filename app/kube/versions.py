"""Compare resourceVersions.

They are decimal numbers that grow within one resource of one API server, which Kubernetes has documented
since 1.35 and done since 1.0 (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions).
A version that isn't a number, from some other server behind the API aggregator, is compared for equality
only, so that a comparison may answer "not known" but never wrongly.
"""

from app.kube.objects import Metadata


def _number(version: str) -> int | None:
    return int(version) if version.isascii() and version.isdecimal() else None


def reached(current: str, wanted: str) -> bool:
    """Tell whether a cache at ``current`` has surely seen ``wanted``; both of the same resource."""
    at, to = _number(current), _number(wanted)
    if at is None or to is None:
        return current == wanted
    return at >= to


def is_older(one: Metadata, other: Metadata) -> bool:
    """Tell whether ``one`` is surely an earlier version of the object, or the same, as ``other``."""
    if one.uid != other.uid:
        return False
    if one.resource_version == other.resource_version:
        return True
    at, to = _number(one.resource_version), _number(other.resource_version)
    return at is not None and to is not None and at < to
