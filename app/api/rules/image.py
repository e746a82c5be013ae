"""Which etcd a cluster runs: repository and version, and which version may follow which."""

import re
from functools import lru_cache
from typing import Any

from app.api.base import JsonObject
from app.api.verdict import Report
from app.api.versions import (
    DEFAULT,
    KNOWN_BAD,
    LEAVING_PATCH,
    NEWEST_MINOR,
    OLDEST_MINOR,
    PROMOTION_FLOOR,
    SECURITY_FLOOR,
    TESTED,
    UNTESTED_BELOW,
    EtcdVersion,
    nearest_supported,
    parse_version,
)

_VERSION = "spec.version"
_REPOSITORY = "spec.repository"
_REPOSITORY_PATTERN = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?/)?"
    r"[a-z0-9]+(?:[._-]{1,2}[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]{1,2}[a-z0-9]+)*)*",
    re.IGNORECASE,
)
_LONGEST_REPOSITORY = 255
_IMAGE = "spec.image"
_REFERENCE = re.compile(
    rf"(?:{_REPOSITORY_PATTERN.pattern})"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?(?:@(?P<digest>[a-z0-9]+:[0-9a-f]{32,128}))?",
    re.IGNORECASE | re.ASCII,
)
_TAG_OR_DIGEST = re.compile(r"(?:@[^/]*|:[^/]*)$")


def check_repository(repository: Any, report: Report) -> None:
    """Check ``spec.repository``; absent means the default."""
    if repository is None:
        return
    if not isinstance(repository, str):
        report.wrong_type(_REPOSITORY, repository, "the name of an image repository")
    elif not _is_repository(repository):
        without_tag = _TAG_OR_DIGEST.sub("", repository)
        usable = _is_repository(without_tag)
        report.invalid(
            _REPOSITORY,
            repository,
            "must be an image repository without tag or digest, the tag is made from spec.version",
            nearest=without_tag if usable else "quay.io/coreos/etcd",
        )


def _is_repository(text: str) -> bool:
    return len(text) <= _LONGEST_REPOSITORY and _names_repository(text)


@lru_cache(maxsize=64)
def _names_repository(text: str) -> bool:
    return _REPOSITORY_PATTERN.fullmatch(text) is not None


def check_image(image: Any, version: Any, report: Report) -> None:
    """Check ``spec.image``, which wins over the repository: ``version`` then says what it contains."""
    if image is None:
        return
    if not isinstance(image, str):
        report.wrong_type(_IMAGE, image, "the reference of an image")
        return
    match = _REFERENCE.fullmatch(image)
    if match is None:
        report.invalid(_IMAGE, image, "must be an image reference, e.g. registry.example.com/etcd:v3.6.16")
        return
    tag = match["tag"]
    contained = parse_version(version or DEFAULT)
    if not tag and not match["digest"]:
        nearest = f"{image}:v{contained}" if contained is not None else None
        report.invalid(_IMAGE, image, "must have a tag or a digest", nearest=nearest)
    elif contained is not None and parse_version(tag) not in (None, contained):
        report.warn(f"{_IMAGE}: the tag says {tag[:40]}, and spec.version, {contained}, is what is gone by")


def check_version(text: Any, report: Report) -> None:
    """Check ``spec.version`` by itself; absent means the default."""
    if text is None:
        return
    version = parse_version(text)
    if not isinstance(text, str):
        report.wrong_type(_VERSION, text, 'a version in quotes, e.g. "3.6.16"')
    elif version is None:
        message = "must be <major>.<minor>.<patch>, e.g. 3.6.16"
        report.invalid(_VERSION, text, message, nearest=_nearest_text(text))
    elif version.major != 3 or not OLDEST_MINOR <= version.minor <= NEWEST_MINOR:
        message = f"etcd 3.{OLDEST_MINOR} to 3.{NEWEST_MINOR} can be run"
        report.invalid(_VERSION, text, message, nearest=nearest_supported(version))
    elif (version.minor, version.patch) in KNOWN_BAD:
        message = "this release of etcd is known to corrupt data"
        report.invalid(_VERSION, text, message, nearest=TESTED[version.minor])
    elif version.minor < UNTESTED_BELOW:
        report.warn(
            f"spec.version: etcd {version.minor_text} is untested; the oldest tested is 3.{UNTESTED_BELOW}"
        )
    elif version.patch < SECURITY_FLOOR.get(version.minor, 0):
        floor = f"3.{version.minor}.{SECURITY_FLOOR[version.minor]}"
        report.warn(f"spec.version: {version} has known vulnerabilities; use {floor} or later")
        _check_promotions(version, report)


def _check_promotions(version: EtcdVersion, report: Report) -> None:
    """Members join as learners: a release that may forget their promotion is told of, since it may grow."""
    least = PROMOTION_FLOOR.get(version.minor, 0)
    if version.patch < least:
        report.warn(
            f"spec.version: {version} may forget a promotion (etcd#18347); "
            f"use 3.{version.minor}.{LEAVING_PATCH[version.minor]} or later before it grows"
        )


def _nearest_text(text: str) -> str:
    """Return the tested version of the minor version that a text seems to mean."""
    match = re.search(r"(\d{1,4})\.(\d{1,4})", text)
    if match is None:
        return TESTED[NEWEST_MINOR - 1]
    return nearest_supported(EtcdVersion(int(match[1]), int(match[2]), 0))


def check_version_change(new: JsonObject, old: JsonObject, report: Report) -> None:
    """Check that the members can go from the versions they run to the new one.

    ``new`` and ``old`` are whole objects: an upgrade may be under way, and then what the members run counts
    rather than what the stored spec asked for.
    """
    wanted, asked = _version(new), _version(old)
    text = _spec(new).get("version")
    if wanted is None or text == _spec(old).get("version") or wanted == asked:
        return
    running = _running(old)
    if wanted in running and len(running) > 1:
        return  # back to what some members still run: the way out of a stuck upgrade
    if not running and asked is not None:
        running = {asked}
    for version in sorted(running):
        if _step_fault(version, wanted, text, report):
            return


def _step_fault(version: EtcdVersion, wanted: EtcdVersion, text: Any, report: Report) -> bool:
    if wanted.major != version.major:
        return False  # a rule of its own denies it
    minor = version.minor
    if wanted.minor < minor:
        message = f"members run {version}, and etcd cannot go back to an earlier minor version"
        report.forbidden(_VERSION, text, message, nearest=str(version))
        return True
    if wanted.minor == minor:
        return False
    least = LEAVING_PATCH.get(minor, 0)
    if version.patch < least:
        message = (
            f"members run {version}, and {version.major}.{minor + 1} needs 3.{minor}.{least} or later first"
        )
        report.forbidden(_VERSION, text, message, nearest=TESTED.get(minor, f"3.{minor}.{least}"))
        return True
    if wanted.minor > minor + 1:
        message = f"members run {version}, and etcd goes up by one minor version at a time"
        report.forbidden(_VERSION, text, message, nearest=TESTED.get(minor + 1, f"3.{minor + 1}.0"))
        return True
    return False


def _spec(obj: JsonObject) -> JsonObject:
    spec = obj.get("spec")
    return spec if isinstance(spec, dict) else {}


def _version(obj: JsonObject) -> EtcdVersion | None:
    return parse_version(_spec(obj).get("version"))


def _running(obj: JsonObject) -> set[EtcdVersion]:
    """Return the versions that the members run, as far as the status knows."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return set()
    members = status.get("memberStatus")
    texts = [m.get("version") for m in members if isinstance(m, dict)] if isinstance(members, list) else []
    found = {version for version in map(parse_version, texts) if version is not None}
    if found:
        return found
    current = parse_version(status.get("currentVersion"))
    return set() if current is None else {current}
