"""How many members an eviction must leave, and who says so.

The floor is the quorum of what the cluster is or is to be, whichever is more: a learner counts, since it is
about to be a voter, and a cluster that is being shrunk is protected as what it still is. One or two members
on claims have no floor, or a node of theirs could never be drained; on an emptyDir all are kept, since their
data would go with the Pod.

Two budgets that select one Pod make every eviction fail. So where one of the user's selects a member, ours
gives way, and an event says so, once.
"""

from dataclasses import dataclass

from app.api.cluster import ClusterSpec
from app.api.status import Journal
from app.etcd.model import quorum
from app.plan.actions import Action, DeleteBudget, EnsureBudget
from app.plan.losses import persistent
from app.plan.observed import BudgetFacts, Observed
from app.plan.roster import roster
from app.plan.step import Event

FEW = 2
"""The most members that have no floor on claims: none of them can be spared."""


@dataclass(frozen=True, slots=True)
class Protection:
    """What is to be done about the budget, and the journal that knows what was told."""

    journal: Journal
    actions: tuple[Action, ...] = ()
    events: tuple[Event, ...] = ()


def protect(observed: Observed, spec: ClusterSpec, journal: Journal) -> Protection:
    """Decide about the budget, where it is known which ones there are."""
    if observed.budgets is None:
        return Protection(journal)
    name = observed.cluster.name
    own = next((one for one in observed.budgets if one.ours and one.name == name), None)
    floor = least_available(spec, journal) if spec.pod_disruption_budget else 0
    if floor and not observed.pods:
        return Protection(journal)  # whom another budget selects can't be seen
    others = [one for one in observed.budgets if not one.ours and (one.selects or one.name == name)]
    told, events = _tell(others if floor else [], journal, name=name)
    if not floor or others:
        return Protection(told, _without(own), events)
    return Protection(told, _with(own, floor), events)


def least_available(spec: ClusterSpec, journal: Journal) -> int:
    """The members that must stay available; 0 for no floor at all."""
    members = max(len(roster(journal)), spec.size or 0)
    if members <= FEW:
        return 0 if persistent(spec) else members
    return quorum(members)


def _without(own: BudgetFacts | None) -> tuple[Action, ...]:
    if own is None or own.terminating:
        return ()
    return (DeleteBudget.of(own),)


def _with(own: BudgetFacts | None, floor: int) -> tuple[Action, ...]:
    if own is not None and (own.terminating or (own.min_available == floor and not own.drifted)):
        return ()
    return (EnsureBudget(floor),)


def _tell(others: list[BudgetFacts], journal: Journal, *, name: str) -> tuple[Journal, tuple[Event, ...]]:
    """Tell of budgets that stand in the way; those of an earlier cluster go by themselves."""
    standing = sorted(one.name for one in others if not one.terminating)
    known = ", ".join(standing)
    if known == journal.other_budgets:
        return journal, ()
    told = journal.model_copy(update={"other_budgets": known})
    if not standing:
        return told, ()
    why = "has its name" if standing == [name] and not others[0].selects else "selects its members"
    note = f"PodDisruptionBudget {known} {why}; the operator makes none, since two would stop every eviction"
    return told, (Event("PodDisruptionBudgetGivesWay", "Protect", note, type="Warning"),)
