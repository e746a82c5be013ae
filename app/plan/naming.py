"""Names of members: none is used twice in the life of a cluster."""

from collections.abc import Collection

from app.api import names
from app.api.status import Journal
from app.plan.observed import ClusterRef


def unused(
    cluster: ClusterRef, journal: Journal, taken: Collection[str], *, count: int
) -> tuple[tuple[str, ...], Journal]:
    """Names that no member has had, nor anything in ``taken``; with the journal that remembers them."""
    founders = journal.bootstrap.members if journal.bootstrap else ()
    index = max(journal.next_index, len(founders))
    made: list[str] = []
    while len(made) < count:
        name = names.member_name(cluster.name, cluster.uid, index)
        index += 1
        if name not in taken and name not in founders:
            made.append(name)
    return tuple(made), journal.model_copy(update={"next_index": index})
