"""A change of the membership that is decided, with the intent that records it before it is sent."""

from dataclasses import dataclass

from app.api.status import Intent, Journal
from app.etcd import identity
from app.plan.actions import MembershipAction, RemoveMember, Via
from app.plan.observed import ListedMember
from app.plan.step import Event, Trouble


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be sent, with the journal that records it; or what is in the way."""

    journal: Journal
    action: MembershipAction | None = None
    trouble: Trouble | None = None
    event: Event | None = None

    @property
    def leaving(self) -> str:
        """The member that is about to be removed, which is not brought back any more."""
        return self.action.member if isinstance(self.action, RemoveMember) else ""


def removing(journal: Journal, member: ListedMember, via: Via, event: Event) -> Change:
    """Remove a member."""
    return Change(
        intending(journal, "Remove", member.name, member.id),
        RemoveMember(member.name, member.id, via),
        event=event,
    )


def intending(journal: Journal, action: str, member: str, member_id: int) -> Journal:
    """Write down what is about to be sent; one that is written down already stays as it is."""
    text = identity.text(member_id) if member_id else ""
    intent = Intent(action=action, member=member, id=text)
    before = journal.intent
    if before is not None and (before.action, before.member, before.id) == (action, member, text):
        return journal
    return journal.model_copy(update={"intent": intent})
