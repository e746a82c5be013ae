"""Lines come out the same however the stream was cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.kube.errors import Undecodable
from app.kube.lines import LineSplitter

line = st.binary(max_size=40).map(lambda data: data.replace(b"\n", b""))


@settings(deadline=None)
@given(st.lists(line), st.lists(st.integers(1, 9)), line)
def test_any_cut_gives_the_same_lines(whole: list[bytes], cuts: list[int], rest: bytes) -> None:
    data = b"".join(one + b"\n" for one in whole) + rest
    splitter = LineSplitter()
    found: list[bytes] = []
    at = 0
    for size in [*cuts, len(data)]:
        found += splitter.feed(data[at : at + size])
        at += size
    found += splitter.feed(data[at:])
    assert found == [one for one in whole if one]


def test_an_event_of_many_megabytes_in_small_chunks() -> None:
    splitter = LineSplitter()
    chunk = b"x" * 65536
    for _ in range(48):
        assert splitter.feed(chunk) == []
    assert splitter.feed(b"\n") == [chunk * 48]


def test_what_has_no_end_is_refused() -> None:
    splitter = LineSplitter(limit=100)
    splitter.feed(b"x" * 100)
    with pytest.raises(Undecodable, match="more than 100 bytes"):
        splitter.feed(b"x")
