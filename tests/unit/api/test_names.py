"""Names of members, Services and addresses."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api import names


def test_a_member_is_the_cluster_and_ten_characters() -> None:
    name = names.member_name("example", "0f8e4f2c-0000-4000-8000-1234567890ab", 0)
    assert re.fullmatch(r"example-[a-z0-9]{10}", name)
    assert name == names.member_name("example", "0f8e4f2c-0000-4000-8000-1234567890ab", 0)


@given(st.uuids(), st.uuids())
def test_members_of_a_cluster_and_of_its_namesake_differ(uid: object, other: object) -> None:
    own = {names.member_name("a", str(uid), index) for index in range(7)}
    assert len(own) == 7
    if uid != other:
        assert own.isdisjoint(names.member_name("a", str(other), index) for index in range(7))


def test_H6_the_longest_cluster_name_gives_a_host_name_of_63() -> None:
    assert names.MAX_CLUSTER_NAME == 52
    assert len(names.member_name("a" * 52, "uid", 0)) == 63


@pytest.mark.parametrize("domain", [".cluster.local", "cluster.local", ".cluster.local."])
def test_addresses_carry_the_cluster_domain(domain: str) -> None:
    peer = names.peer_url("a-0", cluster="a", namespace="ns", domain=domain)
    client = names.client_url("a-0", cluster="a", namespace="ns", domain=domain, tls=True)
    assert peer == "http://a-0.a.ns.svc.cluster.local:2380"
    assert client == "https://a-0.a.ns.svc.cluster.local:2379"


@pytest.mark.parametrize("domain", [None, "", "."])
def test_addresses_without_a_domain(domain: str | None) -> None:
    assert names.member_host("a-0", cluster="a", namespace="ns", domain=domain) == "a-0.a.ns.svc"


def test_a_peer_url_names_its_member() -> None:
    assert names.member_of_url("https://a-0.a.ns.svc:2380") == "a-0"
    assert names.member_of_url("http://localhost:2380") == ""
    assert names.member_of_url("") == ""


def test_the_services_are_the_old_ones() -> None:
    assert (names.peer_service("a"), names.client_service("a")) == ("a", "a-client")


@given(st.text(max_size=80))
def test_the_nearest_cluster_name_is_a_valid_one(text: str) -> None:
    nearest = names.nearest_cluster_name(text)
    assert names.is_label(nearest)
    assert len(nearest) <= names.MAX_CLUSTER_NAME
    if names.is_label(text) and len(text) <= names.MAX_CLUSTER_NAME:
        assert nearest == text
