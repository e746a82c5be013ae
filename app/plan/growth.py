"""Volumes that are to be larger: the claims are asked to grow, and the status says how far that is.

A claim only grows (Kubernetes: expanding persistent volumes claims), so one that is larger than the spec asks
for is left as it is. A claim that is set aside is nobody's to change.
"""

from dataclasses import dataclass

from app.api.cluster import ClusterSpec
from app.api.quantities import parse_quantity
from app.plan.actions import GrowVolume
from app.plan.observed import Observed
from app.plan.step import Event, Trouble


@dataclass(frozen=True, slots=True)
class Growth:
    """What is to be asked for, and what is in the way."""

    actions: tuple[GrowVolume, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    events: tuple[Event, ...] = ()


def grow(observed: Observed, spec: ClusterSpec, members: tuple[str, ...]) -> Growth:
    """Ask the members' claims to grow to what the spec asks for."""
    wanted = spec.storage
    claims = [observed.volumes[name] for name in members if name in observed.volumes]
    claims = [claim for claim in claims if not claim.terminating and not claim.quarantined]
    # Only a bound claim may be changed, and only that has a capacity.
    short = [claim for claim in claims if claim.capacity and _below(claim.requested, wanted)]
    refused = [claim.name for claim in short if claim.name in observed.refusals]
    asked = tuple(
        GrowVolume(claim.name, claim.uid, wanted) for claim in short if claim.name not in observed.refusals
    )
    growing = [claim.name for claim in claims if claim not in short and _below(claim.capacity, wanted)]
    events = (
        (Event("VolumesExpanding", "Expand", f"{', '.join(one.name for one in asked)}: asked for {wanted}"),)
        if asked
        else ()
    )
    return Growth(asked, _troubles(observed, refused, growing, wanted), events)


def _troubles(observed: Observed, refused: list[str], growing: list[str], wanted: str) -> tuple[Trouble, ...]:
    if refused:
        words = observed.refusals[refused[0]]
        text = f"{', '.join(refused)} can't grow to {wanted}: {words}"
        return (Trouble("VolumeNotExpandable", text, stalled=True),)
    if growing:
        text = f"waiting until {', '.join(growing)} has {wanted}"
        return (Trouble("VolumeExpanding", text, passing=True),)
    return ()


def _below(have: str, wanted: str) -> bool:
    """Whether a quantity is known and too small."""
    known, goal = parse_quantity(have), parse_quantity(wanted)
    return known is not None and goal is not None and known < goal
