import json
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certs.authority import Authority, create_authority, issue_leaf
from certs.rotation import Next, Retired, State
from certs.store import FORMAT, Reading, encode, read
from tests.unit.certs.fakes import NAMES, SETTINGS, START


def fresh() -> Authority:
    return create_authority(name="webhook-ca", now=START, lifetime=SETTINGS.ca_lifetime)


CAS = [fresh() for _ in range(4)]
LATER = START + timedelta(days=1)
FULL = State(
    active=CAS[0],
    since=START,
    next=Next(CAS[1], added=START + timedelta(hours=1), published=START + timedelta(hours=2)),
    retired=(Retired(CAS[2], since=START),),
)


def data(state: State = FULL) -> dict[str, bytes]:
    return {key: value for key, value in encode(state).items() if value is not None}


def reading(secret: dict[str, bytes], *, remembered: State | None = None, now: datetime = LATER) -> Reading:
    return read(secret, now=now, soak=SETTINGS.soak, fresh=fresh, remembered=remembered)


def names(state: State) -> list[str]:
    return [ca.fingerprint for ca in state.authorities]


@pytest.mark.parametrize("state", [FULL, State(active=CAS[0], since=START)], ids=["full", "plain"])
def test_state_survives_being_written_and_read(state: State) -> None:
    found = reading(data(state))
    assert found.whole
    assert found.writable
    assert encode(found.state) == encode(state)


def test_no_secret_gives_a_new_authority_to_be_written() -> None:
    found = reading({})
    assert not found.whole
    assert found.state.since == LATER
    assert len(found.state.authorities) == 1


def test_W29_secret_of_a_newer_operator_is_used_and_not_written() -> None:
    newer = json.loads(data()["state"]) | {"format": FORMAT + 1, "surprise": [1, 2]}
    found = reading(data() | {"state": json.dumps(newer).encode(), "quantum.key": b"?"})
    assert found.whole
    assert not found.writable
    assert names(found.state) == names(FULL)


@pytest.mark.parametrize("text", [b"", b"{", b"null", b"[]", b'{"format":1,"since":"yesterday"}', b"\xff"])
def test_lost_times_are_begun_anew_and_no_authority_is_lost(text: bytes) -> None:
    found = reading(data() | {"state": text})
    assert not found.whole
    assert names(found.state) == names(FULL)
    assert found.state.next is not None
    assert found.state.next.published is None
    assert found.state.retired[0].since == LATER


def test_times_without_a_zone_are_no_times() -> None:
    times = json.loads(data()["state"]) | {"since": "2026-01-01T00:00:00"}
    assert not reading(data() | {"state": json.dumps(times).encode()}).whole


def test_half_written_successor_is_dropped() -> None:
    for broken in ({"next.key": b""}, {"next.crt": b"garbage"}, {"next.key": CAS[3].key_pem}):
        found = reading(data() | broken)
        assert not found.whole
        assert found.state.active.fingerprint == CAS[0].fingerprint
        assert found.state.next is None
    without = data()
    del without["next.key"]
    assert reading(without).state.next is None


def test_lost_key_makes_the_successor_active_and_keeps_the_certificate_trusted() -> None:
    for broken in (b"", b"garbage", CAS[3].key_pem):
        found = reading(data() | {"ca.key": broken})
        assert not found.whole
        assert found.state.active.fingerprint == CAS[1].fingerprint
        assert found.state.trusts(CAS[0].fingerprint)
        assert found.state.trusts(CAS[2].fingerprint)


def test_lost_key_without_a_successor_makes_a_new_authority_and_keeps_the_old_certificate() -> None:
    found = reading(data(State(active=CAS[0], since=START)) | {"ca.key": b""})
    assert found.state.active.fingerprint != CAS[0].fingerprint
    assert found.state.trusts(CAS[0].fingerprint)


def test_replica_that_remembers_puts_a_damaged_secret_right() -> None:
    found = reading({"ca.crt": b"garbage", "ca.key": b""}, remembered=FULL)
    assert found.state is FULL
    assert not found.whole


def test_deleted_secret_gives_a_new_authority_and_the_old_one_is_trusted_for_what_is_still_served() -> None:
    found = reading({}, remembered=FULL)
    assert found.state.active.fingerprint not in names(FULL)
    assert found.state.trusts(CAS[0].fingerprint)
    assert found.state.since == LATER + SETTINGS.soak


def test_authority_replaced_by_hand_takes_over_after_a_soak() -> None:
    other = State(active=CAS[3], since=START)
    found = reading(data(other), remembered=FULL)
    assert found.state.active.fingerprint == CAS[3].fingerprint
    assert found.state.since == LATER + SETTINGS.soak
    assert found.state.trusts(CAS[0].fingerprint)
    assert not found.whole
    assert reading(data(found.state), remembered=found.state).whole


def test_remembered_authority_that_has_expired_is_forgotten() -> None:
    dead = CAS[0].not_after
    found = reading({}, remembered=FULL, now=dead)
    assert not found.state.trusts(CAS[0].fingerprint)


def test_leaf_in_place_of_the_authority_is_not_trusted() -> None:
    leaf = issue_leaf(CAS[0], names=NAMES, now=START, lifetime=SETTINGS.leaf_lifetime)
    found = reading(data() | {"ca.crt": leaf.pem, "retired.crt": leaf.pem})
    assert leaf.pem not in found.state.bundle


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    broken=st.dictionaries(
        st.sampled_from(sorted(data())),
        st.one_of(st.none(), st.binary(max_size=50), st.integers(1, 400)),
        max_size=6,
    )
)
def test_whatever_is_broken_the_mended_secret_is_whole(broken: dict[str, bytes | int | None]) -> None:
    secret = data()
    for key, value in broken.items():
        if value is None:
            del secret[key]
        elif isinstance(value, int):
            secret[key] = secret[key][:-value]
        else:
            secret[key] = value
    mended = reading(secret)
    again = reading(data(mended.state))
    assert again.whole or mended.state.active.not_after < LATER
    assert names(again.state) == names(mended.state)
    if load_ok(secret):
        assert mended.state.active.fingerprint == CAS[0].fingerprint


def load_ok(secret: dict[str, bytes]) -> bool:
    return secret.get("ca.crt") == CAS[0].pem and secret.get("ca.key") == CAS[0].key_pem
