"""The CA Secret: its format, and how a damaged one is mended.

``ca.crt`` and ``ca.key`` are the active CA in every format there will be; ``next.crt``, ``next.key`` and
``retired.crt`` are the others; ``state`` is JSON with the format's number and the times of the steps. A
Secret of a higher format number, written by a newer operator, is used and never written, so that a
downgrade neither fails nor loses what the newer one knew.

Whatever is still whole in a damaged Secret is kept, and so is the CA that this replica served under until
now: a CA that verifies certificates in use stays in the bundle even if its key is lost. (To be rid of a
CA whose key was stolen, delete the Secret while no replica runs.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import msgspec

from certs.authority import CaCertificate, bundle, load_authority, load_ca_certificates
from certs.errors import CertificateError
from certs.rotation import Fresh, Next, Retired, State

FORMAT: Final = 1


class _Times(msgspec.Struct, frozen=True, omit_defaults=True):
    format: int
    since: datetime | None = None
    added: datetime | None = None
    published: datetime | None = None
    retired: dict[str, datetime] = {}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a Secret says, and what may be done with it."""

    state: State
    whole: bool
    """False where something had to be mended: it is to be written back."""
    writable: bool = True
    """False where a newer operator wrote it."""


def encode(state: State) -> dict[str, bytes | None]:
    """The Secret's data; None for a key that it must not have."""
    following = state.next
    times = _Times(
        format=FORMAT,
        since=state.since,
        added=None if following is None else following.added,
        published=None if following is None else following.published,
        retired={retired.certificate.fingerprint: retired.since for retired in state.retired},
    )
    return {
        "ca.crt": state.active.pem,
        "ca.key": state.active.key_pem,
        "next.crt": None if following is None else following.authority.pem,
        "next.key": None if following is None else following.authority.key_pem,
        "retired.crt": bundle(retired.certificate for retired in state.retired) or None,
        "state": msgspec.json.encode(times),
    }


def read(
    data: Mapping[str, bytes],
    *,
    now: datetime,
    soak: timedelta,
    fresh: Fresh,
    remembered: State | None = None,
) -> Reading:
    """Read a Secret's data (empty for none), mending what is broken; never raises.

    `remembered` is the state this replica last knew. Where the active CA can't sign any more, the remembered
    one, else the next one, else one by `fresh` takes its place. A CA that came in place of another without
    the steps of a rotation is to be used `soak` from now on by replicas whose certificates are still good.
    """
    times = _times(data.get("state", b""))
    try:
        active = load_authority(data.get("ca.crt", b""), data.get("ca.key", b""))
    except CertificateError:
        if data and remembered is not None and now < remembered.active.not_after:
            return Reading(remembered, whole=False)
        return Reading(
            _keep(_replacement(data, times, now=now, fresh=fresh), remembered, now, soak), whole=False
        )
    told = times or _Times(format=FORMAT)
    state = State(
        active,
        since=told.since or now,
        next=_next(data, told, now=now),
        retired=_retired(data.get("retired.crt", b""), told.retired, now=now, besides=active),
    )
    if told.format > FORMAT:
        return Reading(state, whole=True, writable=False)
    state = _keep(state, remembered, now, soak)
    wanted = encode(state)
    return Reading(state, whole=all(data.get(key) == value for key, value in wanted.items()))


def _replacement(data: Mapping[str, bytes], times: _Times | None, *, now: datetime, fresh: Fresh) -> State:
    told = times or _Times(format=FORMAT)
    following = _next(data, told, now=now)
    active = fresh() if following is None else following.authority
    lost = _retired(data.get("ca.crt", b""), {}, now=now, besides=active)
    older = _retired(data.get("retired.crt", b""), told.retired, now=now, besides=active)
    return State(active, since=now, retired=(*lost, *older))


def _keep(state: State, remembered: State | None, now: datetime, soak: timedelta) -> State:
    """The state with the CA that this replica has used, if that one was lost while it is still good."""
    if (
        remembered is None
        or now >= remembered.active.not_after
        or state.trusts(remembered.active.fingerprint)
    ):
        return state
    since = now + soak
    return replace(state, since=since, retired=(Retired(remembered.active, since=since), *state.retired))


def _times(text: bytes) -> _Times | None:
    try:
        times = msgspec.json.decode(text, type=_Times)
    except ValueError:
        return None
    named = [times.since, times.added, times.published, *times.retired.values()]
    return None if any(time is not None and time.tzinfo is None for time in named) else times


def _next(data: Mapping[str, bytes], times: _Times, *, now: datetime) -> Next | None:
    try:
        authority = load_authority(data.get("next.crt", b""), data.get("next.key", b""))
    except CertificateError:
        return None
    return Next(authority, added=times.added or now, published=times.published if times.added else None)


def _retired(
    pem: bytes, since: Mapping[str, datetime], *, now: datetime, besides: CaCertificate
) -> tuple[Retired, ...]:
    try:
        found = {ca.fingerprint: ca for ca in load_ca_certificates(pem)}
    except CertificateError:
        return ()
    found.pop(besides.fingerprint, None)
    return tuple(Retired(ca, since=since.get(ca.fingerprint, now)) for ca in found.values())
