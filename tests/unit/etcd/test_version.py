from __future__ import annotations

import pytest

from app.etcd.version import Version, parse


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.6.16", Version(3, 6, 16)),
        ("v3.6.16", Version(3, 6, 16)),
        ("vv3.6.16", Version(3, 6, 16)),
        ("3.7.0-rc.1", Version(3, 7, 0)),
        ("3.6", Version(3, 6, 0)),
    ],
)
def test_versions_are_read(text: str, version: Version) -> None:
    assert parse(text) == version


@pytest.mark.parametrize("text", ["", "3", "latest", "3.6.16.1", "3.x.1", " 3.6.16"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a version"):
        parse(text)


def test_a_version_compares_with_a_minor() -> None:
    assert parse("3.6.0") >= (3, 6)
    assert parse("3.5.35") < (3, 6)
    assert parse("3.10.1") > (3, 9)
    assert parse("3.6.16").series == (3, 6)
