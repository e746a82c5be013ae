"""What a plan can ask for: plain data, carried out by `app.act`.

Each action is idempotent, and says by uid which object it means, so that one that was decided on an old look
at the world does nothing to an object that has taken the place of the one meant.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnsureService:
    """Apply the headless peer Service, or the one for clients."""

    name: str
    client: bool


@dataclass(frozen=True, slots=True)
class CreateVolume:
    """Create the claim of a member."""

    member: str


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create the Pod of a member.

    ``annotations`` carry what etcd reads at each start (initial cluster and its state); ``token`` is the
    initial cluster token, which never changes.
    """

    member: str
    peer_url: str
    annotations: Mapping[str, str]
    token: str


@dataclass(frozen=True, slots=True)
class Annotate:
    """Merge annotations into a Pod or a PersistentVolumeClaim that still has this uid."""

    kind: str
    name: str
    uid: str
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete a Pod with its usual grace, if it is still the one and the version that was seen."""

    name: str
    uid: str
    resource_version: str


Action = EnsureService | CreateVolume | CreatePod | Annotate | DeletePod
