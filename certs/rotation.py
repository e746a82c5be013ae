"""When one CA follows another: pure, from the state in the Secret and the time to the next step.

Nobody can know when every API server has learnt a new ``caBundle``, and no replica knows of all others. So a
CA is exchanged in steps, each kept in the Secret with its time, and any replica may take the next one:

(a) at two thirds of the active CA's life the *next* CA is added;
(b) the bundle has it, read back from both webhook configurations: *published*;
(c) after a soak, counted from (b) and with the bundle still complete, *next* becomes *active*; the old one is
    *retired*; replicas, which watch the Secret, mint their certificates anew, each when it gets there;
(d) one whole lifetime of a serving certificate after (c) nothing that the retired CA signed is valid any
    more, and it leaves the bundle.

A bundle always has active, next and retired CAs, so at each step it verifies whatever any replica serves.
An active CA that has expired (the operator was off for a year) verifies nothing: it is replaced at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import TypeAlias

from certs.authority import BACKDATE, Authority, CaCertificate, bundle


@dataclass(frozen=True, slots=True)
class Settings:
    """How long things live."""

    ca_lifetime: timedelta
    leaf_lifetime: timedelta
    soak: timedelta


@dataclass(frozen=True, slots=True)
class Next:
    """The CA that will be the active one."""

    authority: Authority
    added: datetime
    published: datetime | None = None
    """Since when both configurations are known to have it."""


@dataclass(frozen=True, slots=True)
class Retired:
    """A CA that signs no more; what it signed may still be served."""

    certificate: CaCertificate
    since: datetime


@dataclass(frozen=True, slots=True)
class State:
    """What the Secret holds."""

    active: Authority
    since: datetime
    """From when on the active CA is to be used by replicas whose certificate is still good; it lies ahead
    only where a CA had to be replaced without a soak."""
    next: Next | None = None
    retired: tuple[Retired, ...] = ()

    @property
    def authorities(self) -> tuple[CaCertificate, ...]:
        """All that is to be trusted, in the order of the bundle."""
        following = () if self.next is None else (self.next.authority,)
        return (self.active, *following, *(retired.certificate for retired in self.retired))

    @property
    def bundle(self) -> bytes:
        """The PEM text for ``caBundle``."""
        return bundle(self.authorities)

    def trusts(self, fingerprint: str) -> bool:
        """Whether the bundle has this CA."""
        return any(ca.fingerprint == fingerprint for ca in self.authorities)


class Step(Enum):
    """What a replica may do to the state."""

    REPLACE_EXPIRED = auto()
    ADD_NEXT = auto()
    NOTE_PUBLISHED = auto()
    NOTE_WITHDRAWN = auto()
    ACTIVATE_NEXT = auto()
    DROP_RETIRED = auto()


Fresh: TypeAlias = Callable[[], Authority]
"""Makes a new CA; the one thing here that is not a function of its arguments."""


def renewal(authority: Authority) -> datetime:
    """When the CA's successor is to be added: at two thirds of its life."""
    issued = authority.certificate.not_valid_before_utc + BACKDATE
    return issued + (authority.not_after - issued) * 2 / 3


def next_step(state: State, *, now: datetime, published: bool, settings: Settings) -> Step | None:
    """The step that is due, or None. `published`: both configurations have all of the bundle, just now."""
    if now >= state.active.not_after:
        return Step.REPLACE_EXPIRED
    if any(_done(retired, now=now, settings=settings) for retired in state.retired):
        return Step.DROP_RETIRED
    if state.next is None:
        return Step.ADD_NEXT if now >= renewal(state.active) else None
    if state.next.published is None:
        return Step.NOTE_PUBLISHED if published else None
    if not published:
        return Step.NOTE_WITHDRAWN
    return Step.ACTIVATE_NEXT if now >= state.next.published + settings.soak else None


def take(step: Step, state: State, *, now: datetime, settings: Settings, fresh: Fresh) -> State:
    """The state after `step`."""
    following = state.next
    match step:
        case Step.REPLACE_EXPIRED:
            alive = following is not None and now < following.authority.not_after
            active = following.authority if following is not None and alive else fresh()
            state = State(active=active, since=now, retired=_living(state, now=now, settings=settings))
        case Step.ADD_NEXT:
            state = replace(state, next=Next(fresh(), added=now))
        case Step.NOTE_PUBLISHED | Step.NOTE_WITHDRAWN if following is not None:
            published = now if step is Step.NOTE_PUBLISHED else None
            state = replace(state, next=replace(following, published=published))
        case Step.ACTIVATE_NEXT if following is not None:
            retired = (Retired(state.active, since=now), *state.retired)
            state = State(active=following.authority, since=now, retired=retired)
        case Step.DROP_RETIRED:
            state = replace(state, retired=_living(state, now=now, settings=settings))
        case _:
            raise ValueError(f"{step.name} without a next CA")
    return state


def wake(state: State, *, settings: Settings) -> datetime:
    """The earliest time at which a step may become due by the clock alone."""
    times = [state.active.not_after, *(_end(retired, settings=settings) for retired in state.retired)]
    if state.next is None:
        times.append(renewal(state.active))
    elif state.next.published is not None:
        times.append(state.next.published + settings.soak)
    return min(times)


def _end(retired: Retired, *, settings: Settings) -> datetime:
    return min(retired.since + settings.leaf_lifetime, retired.certificate.not_after)


def _done(retired: Retired, *, now: datetime, settings: Settings) -> bool:
    return now >= _end(retired, settings=settings)


def _living(state: State, *, now: datetime, settings: Settings) -> tuple[Retired, ...]:
    return tuple(retired for retired in state.retired if not _done(retired, now=now, settings=settings))
