"""Who the members are: etcd's own list where it is known, what it said last where it is not."""

from collections.abc import Mapping
from dataclasses import replace

from app.api.status import Journal
from app.plan.observed import ListedMember, Observed

ADD_VOTER = "AddVoter"
"""The intent to add a member as a voter, as to an etcd that knows no learners."""


def roster(journal: Journal) -> tuple[str, ...]:
    """The members as they were listed last; before the latch, the founders."""
    if journal.latch is not None and journal.latch.roster:
        return journal.latch.roster
    return journal.bootstrap.members if journal.bootstrap else ()


def listed(observed: Observed) -> Mapping[str, ListedMember]:
    """The list of etcd by name, empty when nobody could give it."""
    return {member.name: member for member in observed.members or ()}


def agreed(observed: Observed) -> Observed:
    """The look without the list, where members of one cluster follow different leaders.

    Then the one that gave the list may be a cluster of its own under the same ids: the old operator's first
    member, started again on an empty disk, still has the flags that founded the cluster. To believe its list
    would be to delete all others. In an election it is so for a moment, and the next look tells.
    """
    followed = {(answer.cluster_id, answer.leader) for answer in observed.answers.values() if answer.leader}
    clusters = {cluster_id for cluster_id, _ in followed}
    return observed if len(followed) == len(clusters) else replace(observed, members=None)


def updated(observed: Observed, journal: Journal) -> tuple[str, ...]:
    """The roster after this look: known members keep their places, new ones follow."""
    before = roster(journal)
    now = listed(observed)
    if not now:
        return (*before, *_coming(before, journal))
    return (*(name for name in before if name in now), *(name for name in now if name not in before))


def _coming(before: tuple[str, ...], journal: Journal) -> tuple[str, ...]:
    """A voter that may have been added, while nobody can list it.

    To a cluster of one or two it may be what the quorum lacks: it is started then, or there would be no list
    ever again. A learner lacks in no quorum.
    """
    intent = journal.intent
    if intent is None or intent.action != ADD_VOTER or intent.member in before:
        return ()
    return (intent.member,)


def served(member: str, journal: Journal) -> bool:
    """Whether a member has ever been seen serving."""
    return journal.latch is not None and member in journal.latch.members


def adopted(member: str, journal: Journal) -> bool:
    """Whether another operator made a member."""
    known = journal.latch.members.get(member) if journal.latch else None
    return known is not None and known.adopted
