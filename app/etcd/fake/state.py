"""What the model consists of: plain data.

A committed state is an immutable value, ordered by (term, index). Members that are connected to a leader have
the leader's, one that lags or is cut off keeps an older one, and a wiped one has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.etcd.model import Alarm, Member


class NoAnswerError(Exception):
    """The call hangs for as long as the caller waits."""


class Exit(Enum):
    """Why a process ended by itself."""

    ALREADY_BOOTSTRAPPED = "member has already been bootstrapped"
    NOT_LISTED = "couldn't find local name in the initial cluster configuration"
    COUNT_UNEQUAL = "member count is unequal"
    URLS_UNEQUAL = "unmatched member while checking PeerURLs"
    NO_PEERS = "cannot fetch cluster info from peer urls"
    LOST_LOG = "tocommit is out of range [lastIndex(0)]"
    REMOVED = "the member has been permanently removed from the cluster"


@dataclass(frozen=True, slots=True)
class State:
    """What is committed: all that members agree on. Its mappings are never changed in place."""

    term: int
    index: int
    members: Mapping[int, Member]
    removed: frozenset[int] = frozenset()
    revision: int = 1
    keys: Mapping[bytes, tuple[bytes, int]] = field(default_factory=dict)
    alarms: frozenset[Alarm] = frozenset()

    @property
    def age(self) -> tuple[int, int]:
        """What decides whose log is more up to date."""
        return (self.term, self.index)

    @property
    def voters(self) -> tuple[int, ...]:
        """Ids of those that vote, in order."""
        return tuple(sorted(found.id for found in self.members.values() if not found.is_learner))

    @property
    def quorum(self) -> int:
        """How many voters have to agree."""
        return len(self.voters) // 2 + 1


@dataclass(slots=True)
class Data:
    """A data folder."""

    cluster_id: int
    member_id: int
    state: State


@dataclass(slots=True, eq=False)
class Process:
    """A member's process, and its data folder, which stays when the process ends."""

    name: str
    peer_url: str
    client_url: str
    version: str
    data: Data | None = None
    running: bool = False
    joined: bool = False  # has been in a quorum since it started: until then its client port is silent
    exit: Exit | None = None
    cut: bool = False  # off the network of the peers, not of the clients
    lagging: bool = False  # receives nothing new, and so counts for no quorum
    mistaken: str = ""  # the peer that it takes for lost, and so may refuse changes, though it is connected
    dialable: bool = True  # on the network of the clients

    @property
    def held(self) -> Data:
        """The data of a process that must have some."""
        if self.data is None:
            raise ValueError(f"{self.name} has no data")
        return self.data
