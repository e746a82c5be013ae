"""Members whose data is not what the others have.

etcd compares hashes of its members' data and raises the CORRUPT alarm for whoever differs from the majority;
while it is on, every member refuses reads and writes. The member is replaced, and the alarm, which outlives
the membership, is put off once etcd does not list the member any more (etcd#14849). Where no majority agrees,
the alarm is for member 0, and it takes a person to tell whose data is right.
"""

from app.api.status import Journal
from app.etcd import identity
from app.plan.latching import serving
from app.plan.observed import Observed
from app.plan.step import Trouble


def corrupt(observed: Observed, journal: Journal) -> frozenset[int]:
    """The ids that members of this cluster have an alarm for."""
    if journal.latch is None:
        return frozenset()
    answers = serving(observed, journal.latch.cluster_id).values()
    return frozenset(one for answer in answers for one in answer.corrupt)


def orphaned(observed: Observed, journal: Journal) -> tuple[int, ...]:
    """The ids with an alarm that no member has any more, by etcd's own list."""
    if observed.members is None:
        return ()
    listed = {member.id for member in observed.members}
    return tuple(sorted(corrupt(observed, journal) - listed - {0}))


def tell(observed: Observed, journal: Journal) -> Trouble | None:
    """Say whose data is wrong, and what is done about it."""
    found = corrupt(observed, journal)
    if not found:
        return None
    listed = {member.id: member.name for member in observed.members or ()}
    whose = ", ".join(sorted(listed.get(one, identity.text(one)) for one in found - {0}))
    if 0 in found:
        text = (
            "the members' data differ, and etcd can't tell whose is right; compare them, or restore a backup"
        )
        return Trouble("Corrupt", text, stalled=True)
    if observed.members is not None and len(listed) == 1:
        return Trouble(
            "Corrupt", f"the data of {whose}, the only member, is corrupt; restore a backup", stalled=True
        )
    return Trouble("Corrupt", f"the data of {whose} is not that of the others; it is to be replaced")
