"""The membership with who of it is well, and what that allows to be changed."""

from dataclasses import dataclass

from app.etcd.model import quorum
from app.plan.observed import Answer, ListedMember


@dataclass(frozen=True, slots=True)
class Seats:
    """The membership with who of it is healthy, and what it allows to be changed."""

    members: tuple[ListedMember, ...]
    healthy: dict[str, Answer]

    @property
    def voters(self) -> tuple[ListedMember, ...]:
        """Those that count."""
        return tuple(member for member in self.members if not member.learner)

    @property
    def learners(self) -> tuple[ListedMember, ...]:
        """Those that only follow."""
        return tuple(member for member in self.members if member.learner)

    @property
    def leader(self) -> ListedMember | None:
        """The member that the healthy ones follow."""
        ids = {answer.leader for answer in self.healthy.values()}
        return next(
            (member for member in self.voters if member.id in ids and member.name in self.healthy), None
        )

    @property
    def said_leader(self) -> Answer | None:
        """What the leader says of itself."""
        return self.healthy.get(self.leader.name) if self.leader is not None else None

    def healthy_voters(self, *, without: str = "") -> int:
        """How many voters are healthy."""
        return sum(member.name in self.healthy and member.name != without for member in self.voters)

    def may_remove(self, member: ListedMember) -> bool:
        """Whether removing a member can be committed and leaves a healthy quorum."""
        if self.healthy_voters() < quorum(len(self.voters)):
            return False
        if member.learner:
            return True
        after = len(self.voters) - 1
        return after > 0 and self.healthy_voters(without=member.name) >= quorum(after)

    def may_promote(self) -> bool:
        """Whether a learner in sync can be made a voter: with it there must be a healthy quorum."""
        return self.healthy_voters() + 1 >= quorum(len(self.voters) + 1)
