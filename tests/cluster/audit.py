"""What the API server wrote down of the requests it got: its audit log, read.

It has each request of users and service accounts, without those of Kubernetes' own parts.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec


class User(msgspec.Struct, frozen=True):
    username: str = ""


class Object(msgspec.Struct, frozen=True, rename="camel"):
    """What a request was about; for a list or a create the name may be empty."""

    resource: str = ""
    namespace: str = ""
    name: str = ""
    api_group: str = ""
    api_version: str = ""
    subresource: str = ""


class Outcome(msgspec.Struct, frozen=True):
    code: int = 0
    reason: str = ""
    message: str = ""


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """A request at a stage: ResponseComplete, or ResponseStarted for a watch that is going on, or Panic."""

    stage: str
    verb: str
    request_uri: str = msgspec.field(name="requestURI")
    user: User = User()
    impersonated_user: User = User()
    user_agent: str = ""
    object_ref: Object = Object()
    response_status: Outcome = Outcome()
    annotations: dict[str, str] = {}
    request_received_timestamp: str = ""

    @property
    def as_user(self) -> str:
        """Who it was for: the user, or who the user said to be."""
        return self.impersonated_user.username or self.user.username

    @property
    def code(self) -> int:
        """The HTTP status of the answer; 0 if there was none."""
        return self.response_status.code

    @property
    def forbidden(self) -> bool:
        """Whether the user wasn't allowed to do it."""
        return self.annotations.get("authorization.k8s.io/decision") == "forbid"

    @property
    def deprecated(self) -> bool:
        """Whether the API server warned that this API will go."""
        return self.annotations.get("k8s.io/deprecated") == "true"


def service_account(namespace: str, name: str) -> str:
    """The user that a service account is to the API server."""
    return f"system:serviceaccount:{namespace}:{name}"


def read(log: Path, *, user: str | None = None) -> list[Event]:
    """The events in the order of the log, of one user or of all. A line that is being written is left out."""
    return [event for event in _events(log) if user is None or event.as_user == user]


def _events(log: Path) -> Iterator[Event]:
    decoder = msgspec.json.Decoder(Event)
    if not log.exists():
        return
    with log.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield decoder.decode(line)
