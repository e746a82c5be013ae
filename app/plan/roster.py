"""Who the members are: etcd's own list where it is known, what it said last where it is not."""

from collections.abc import Mapping

from app.api.status import Journal
from app.plan.observed import ListedMember, Observed


def roster(journal: Journal) -> tuple[str, ...]:
    """The members as they were listed last; before the latch, the founders."""
    if journal.latch is not None and journal.latch.roster:
        return journal.latch.roster
    return journal.bootstrap.members if journal.bootstrap else ()


def listed(observed: Observed) -> Mapping[str, ListedMember]:
    """The list of etcd by name, empty when nobody could give it."""
    return {member.name: member for member in observed.members or ()}


def updated(observed: Observed, journal: Journal) -> tuple[str, ...]:
    """The roster after this look: known members keep their places, new ones follow."""
    before = roster(journal)
    now = listed(observed)
    if not now:
        return before
    return (*(name for name in before if name in now), *(name for name in now if name not in before))


def served(member: str, journal: Journal) -> bool:
    """Whether a member has ever been seen serving."""
    return journal.latch is not None and member in journal.latch.members
