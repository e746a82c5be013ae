"""The outcome of a decision, and the part of it that one stage of a cluster's life contributes."""

from dataclasses import dataclass, field
from typing import Literal

from app.api.status import ClusterStatus, Journal
from app.plan.actions import Action


@dataclass(frozen=True, slots=True)
class Trouble:
    """What keeps the cluster from what its spec asks for, as a condition's reason and message.

    ``stalled`` marks one that no waiting clears: a person has to change something. ``passing`` marks one that
    is a change on its way: nothing is degraded by it.
    """

    reason: str
    message: str
    stalled: bool = False
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a person would want to read in ``kubectl describe``."""

    reason: str
    action: str
    note: str
    type: Literal["Normal", "Warning"] = "Normal"


@dataclass(frozen=True, slots=True)
class Step:
    """What one stage decided: facts to remember first, then acts in order, and what is in the way.

    The actions of one group do not depend on each other; a group begins only after the one before succeeded.
    """

    journal: Journal
    groups: tuple[tuple[Action, ...], ...] = ()
    troubles: tuple[Trouble, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written and done now, and when to look again (seconds).

    The status is written before anything is done: an act whose record could not be written does not happen.
    """

    status: ClusterStatus
    groups: tuple[tuple[Action, ...], ...] = ()
    events: tuple[Event, ...] = ()
    requeue_after: float = field(default=5.0)
