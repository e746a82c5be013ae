from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.etcd import identity

URLS = {f"m{index}": f"http://m{index}.c.ns.svc:2380" for index in range(3)}


def test_ids_are_those_that_real_members_had() -> None:
    # What etcd 3.7.3 answered, started with this peer URL and its default token.
    found = identity.bootstrap({"default": "http://127.0.0.1:12380"}, token="etcd-cluster")
    assert found.member_ids == {"default": 15985099378392235387}
    assert found.cluster_id == 12101053776118486841


@given(st.permutations(list(URLS.items())))
def test_neither_id_depends_on_an_order(items: list[tuple[str, str]]) -> None:
    assert identity.bootstrap(dict(items), token="t") == identity.bootstrap(URLS, token="t")


def test_peer_urls_of_one_member_are_sorted_first() -> None:
    one, other = "http://a:2380", "http://b:2380"
    assert identity.member_id([one, other], token="") == identity.member_id([other, one], token="")


def test_another_token_is_another_cluster() -> None:
    one, other = (identity.bootstrap(URLS, token=token) for token in ("one", "other"))
    assert one.cluster_id != other.cluster_id
    assert not set(one.member_ids.values()) & set(other.member_ids.values())


def test_what_etcd_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        identity.bootstrap({}, token="t")
    with pytest.raises(ValueError, match="same peer URL"):
        identity.bootstrap({"a": "http://x:2380", "b": "http://x:2380"}, token="t")


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_an_id_reads_back_from_its_text(value: int) -> None:
    assert identity.parse(identity.text(value)) == value


@pytest.mark.parametrize("wrong", ["", "0x1f", "g", "1" * 17, "-1", " 1"])
def test_what_is_no_id_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="not an etcd id"):
        identity.parse(wrong)
