from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.authority import Authority, create_authority
from certs.rotation import Next, Retired, Settings, State, Step, next_step, renewal, take, wake
from tests.unit.certs.fakes import SETTINGS, START


def fresh(now: datetime = START, lifetime: timedelta = SETTINGS.ca_lifetime) -> Authority:
    return create_authority(name="webhook-ca", now=now, lifetime=lifetime)


def due(state: State, now: datetime, *, published: bool = True) -> Step | None:
    return next_step(state, now=now, published=published, settings=SETTINGS)


def after(step: Step, state: State, now: datetime) -> State:
    return take(step, state, now=now, settings=SETTINGS, fresh=lambda: fresh(now))


YOUNG = State(active=fresh(), since=START)
OLD = renewal(YOUNG.active)


def test_young_authority_needs_nothing() -> None:
    assert due(YOUNG, OLD - timedelta(seconds=1)) is None
    assert wake(YOUNG, settings=SETTINGS) == OLD


def test_W1_successor_is_added_at_two_thirds_of_life() -> None:
    assert START + SETTINGS.ca_lifetime * 2 / 3 == OLD
    assert due(YOUNG, OLD) is Step.ADD_NEXT
    added = after(Step.ADD_NEXT, YOUNG, OLD)
    assert added.active == YOUNG.active
    assert added.next is not None
    assert added.bundle == YOUNG.active.pem + added.next.authority.pem


def test_W5_successor_signs_nothing_before_the_bundle_has_it_and_the_soak_is_over() -> None:
    added = after(Step.ADD_NEXT, YOUNG, OLD)
    assert due(added, OLD, published=False) is None
    noted = after(Step.NOTE_PUBLISHED, added, OLD)
    assert due(noted, OLD + SETTINGS.soak - timedelta(seconds=1)) is None
    assert wake(noted, settings=SETTINGS) == OLD + SETTINGS.soak
    assert due(noted, OLD + SETTINGS.soak) is Step.ACTIVATE_NEXT


def test_W9_reset_of_the_bundle_during_the_soak_begins_the_soak_anew() -> None:
    noted = after(Step.NOTE_PUBLISHED, after(Step.ADD_NEXT, YOUNG, OLD), OLD)
    reset = OLD + timedelta(seconds=30)
    assert due(noted, reset, published=False) is Step.NOTE_WITHDRAWN
    withdrawn = after(Step.NOTE_WITHDRAWN, noted, reset)
    assert due(withdrawn, reset, published=True) is Step.NOTE_PUBLISHED
    again = after(Step.NOTE_PUBLISHED, withdrawn, reset)
    assert due(again, OLD + SETTINGS.soak) is None


def test_W6_old_authority_stays_in_the_bundle_for_a_whole_leaf_lifetime() -> None:
    noted = after(Step.NOTE_PUBLISHED, after(Step.ADD_NEXT, YOUNG, OLD), OLD)
    switched = OLD + SETTINGS.soak
    active = after(Step.ACTIVATE_NEXT, noted, switched)
    assert noted.next is not None
    assert active.active == noted.next.authority
    assert active.trusts(YOUNG.active.fingerprint)
    assert due(active, switched + SETTINGS.leaf_lifetime - timedelta(seconds=1)) is None
    assert wake(active, settings=SETTINGS) == switched + SETTINGS.leaf_lifetime
    assert due(active, switched + SETTINGS.leaf_lifetime) is Step.DROP_RETIRED
    assert after(Step.DROP_RETIRED, active, switched + SETTINGS.leaf_lifetime).retired == ()


def test_W1_expired_authority_is_replaced_at_once() -> None:
    dead = YOUNG.active.not_after
    assert due(YOUNG, dead, published=False) is Step.REPLACE_EXPIRED
    replaced = after(Step.REPLACE_EXPIRED, YOUNG, dead)
    assert replaced.active != YOUNG.active
    assert replaced.authorities == (replaced.active,)


def test_expired_authority_is_followed_by_the_next_one_if_there_is_one() -> None:
    added = after(Step.ADD_NEXT, YOUNG, OLD)
    assert added.next is not None
    assert after(Step.REPLACE_EXPIRED, added, YOUNG.active.not_after).active == added.next.authority
    dead = Next(fresh(lifetime=timedelta(days=300)), added=START)
    replaced = after(Step.REPLACE_EXPIRED, replace(YOUNG, next=dead), YOUNG.active.not_after)
    assert replaced.active != dead.authority


def test_retired_authority_that_has_expired_leaves_early() -> None:
    short = fresh(lifetime=timedelta(days=1))
    state = replace(YOUNG, retired=(Retired(short, since=START),))
    assert due(state, START + timedelta(days=1)) is Step.DROP_RETIRED


def test_activation_without_a_successor_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="ACTIVATE_NEXT"):
        after(Step.ACTIVATE_NEXT, YOUNG, OLD)


SHORT = Settings(
    ca_lifetime=timedelta(seconds=900), leaf_lifetime=timedelta(seconds=120), soak=timedelta(seconds=20)
)


@settings(max_examples=25, deadline=None)
@given(pauses=st.lists(st.integers(1, 40), min_size=40, max_size=80), resets=st.sets(st.integers(0, 79)))
def test_W6_whatever_any_replica_serves_is_verified_by_the_bundle_of_that_moment(
    pauses: list[int], resets: set[int]
) -> None:
    """Replicas look now and then; each mints from the CA that was active when it looked."""
    now = START
    state = State(active=fresh(now, SHORT.ca_lifetime), since=now)
    bundle = state.bundle
    leaves: list[tuple[str, datetime]] = []
    for turn, pause in enumerate(pauses):
        now += timedelta(seconds=pause)
        step = next_step(
            state, now=now, published=bundle == state.bundle and turn not in resets, settings=SHORT
        )
        if step is Step.REPLACE_EXPIRED:
            return  # nobody looked for a third of the CA's life
        if step is not None:
            state = take(step, state, now=now, settings=SHORT, fresh=partial(fresh, now, SHORT.ca_lifetime))
        else:
            bundle = state.bundle
        leaves.append((state.active.fingerprint, min(now + SHORT.leaf_lifetime, state.active.not_after)))
        trusted = {ca.fingerprint for ca in state.authorities if ca.pem in bundle}
        assert {issuer for issuer, end in leaves if now < end} <= trusted
