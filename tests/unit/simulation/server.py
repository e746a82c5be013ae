"""An API server in memory: objects with uids and resource versions, preconditions, and a log to watch.

It is synchronous, and holds the facts about Pods and claims that the operator reads instead of whole objects.
Deletion is as in Kubernetes: a Pod stays, terminating, until its kubelet lets it go, and a claim stays for as
long as a Pod uses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from app.api.status import ClusterStatus
from app.plan.observed import BudgetFacts, Order, PodFacts, ServiceFacts, VolumeFacts
from app.plan.revision import REVISION
from app.plan.starting import TOKEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.api.cluster import ClusterSpec
    from app.plan.actions import CreatePod

PODS, HELPERS, VOLUMES, SERVICES, BUDGETS, CLUSTERS = KINDS = (
    "Pod",
    "a Pod of a recovery",
    "PersistentVolumeClaim",
    "Service",
    "PodDisruptionBudget",
    "EtcdCluster",
)


class ConflictError(Exception):
    """A precondition did not hold, or the object is gone."""


@dataclass(frozen=True, slots=True)
class Custom:
    """The custom resource."""

    spec: ClusterSpec
    status: ClusterStatus
    resource_version: str
    generation: int = 1


@dataclass(frozen=True, slots=True)
class Changed:
    """An entry of a watch: ``value`` None for an object that is gone."""

    name: str
    value: Any


@dataclass(slots=True)
class Server:
    """All objects.

    ``writes`` counts what the operator changed; ``fixed`` are uids of Pods whose etcd reads no annotations:
    the old operator made them.
    """

    name: str
    spec: ClusterSpec
    objects: dict[str, dict[str, Any]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    log: dict[str, list[Changed]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    made_from: dict[str, CreatePod] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    writes: int = 0
    order: Order = field(default_factory=Order)
    _version: int = 0

    def __post_init__(self) -> None:
        self.put(CLUSTERS, self.name, Custom(self.spec, ClusterStatus(), self.version()))

    @property
    def custom(self) -> Custom:
        """The custom resource as it is."""
        found: Custom = self.objects[CLUSTERS][self.name]
        return found

    @property
    def pods(self) -> Mapping[str, PodFacts]:
        """The Pods as they are."""
        return self.objects[PODS]

    @property
    def volumes(self) -> Mapping[str, VolumeFacts]:
        """The claims as they are."""
        return self.objects[VOLUMES]

    def version(self) -> str:
        """The next resource version, which serves as a uid as well."""
        self._version += 1
        return str(self._version)

    def put(self, kind: str, name: str, value: Any) -> None:
        """Store an object and tell the watches."""
        self.objects[kind][name] = value
        self.log[kind].append(Changed(name, value))

    def drop(self, kind: str, name: str) -> None:
        """Let an object go and tell the watches; claims that waited for a Pod go with it."""
        member = self.objects[HELPERS][name].member if kind == HELPERS else name
        del self.objects[kind][name]
        self.log[kind].append(Changed(name, None))
        claim = self.volumes.get(member)
        if kind in {PODS, HELPERS} and claim is not None and claim.terminating and not self._in_use(member):
            self.drop(VOLUMES, member)

    def _in_use(self, claim: str) -> bool:
        """Whether a Pod holds a claim."""
        return claim in self.pods or any(one.member == claim for one in self.objects[HELPERS].values())

    # What people do.

    def edit(self, **changes: Any) -> None:
        """Change the spec."""
        before = self.custom
        spec = before.spec.model_copy(update=changes)
        if spec != before.spec:
            after = replace(
                before, spec=spec, generation=before.generation + 1, resource_version=self.version()
            )
            self.put(CLUSTERS, self.name, after)

    def forget(self) -> None:
        """Lose the status, as a backup tool that restores the object does."""
        self.put(
            CLUSTERS,
            self.name,
            replace(self.custom, status=ClusterStatus(), resource_version=self.version()),
        )

    def change_pod(self, name: str, **changes: Any) -> None:
        """Change a Pod; nothing happens when nothing differs."""
        before = self.pods[name]
        after = replace(before, **changes)
        if after != before:
            self.put(PODS, name, replace(after, resource_version=self.version()))

    def terminate(self, kind: str, name: str) -> None:
        """Begin the end of a Pod or a claim, as `kubectl delete` does."""
        before = self.objects[kind][name]
        if kind == HELPERS:
            going = replace(before.pod, terminating=True, resource_version=self.version())
            self.put(kind, name, replace(before, pod=going))
            return
        if before.terminating:
            return
        self.put(kind, name, replace(before, terminating=True, resource_version=self.version()))
        if kind == VOLUMES and not self._in_use(name):
            self.drop(VOLUMES, name)

    def leave(self, action: CreatePod, *, claim: bool) -> None:
        """Leave a Pod as the old operator made it, and perhaps its claim; neither carries a mark of ours."""
        uid = self.version()
        self.made_from[uid] = action
        self.fixed.add(uid)
        self.put(PODS, action.member, PodFacts(action.member, uid, self.version(), phase="Pending"))
        if claim:
            self.put(VOLUMES, action.member, VolumeFacts(action.member, self.version(), self.version()))

    # What the operator does.

    def write_status(self, seen: Custom, status: ClusterStatus) -> bool:
        """Write a status over the version that was seen; returns whether anything differed."""
        if status == seen.status:
            return False
        if self.custom.resource_version != seen.resource_version:
            raise ConflictError
        self.writes += 1
        self.put(CLUSTERS, self.name, replace(self.custom, status=status, resource_version=self.version()))
        return True

    def create_pod(self, action: CreatePod, revision: str) -> None:
        """Create a Pod, unless there is one of that name."""
        if action.member in self.pods:
            return
        self.writes += 1
        uid = self.version()
        marks = {**action.annotations, TOKEN: action.token, REVISION: revision}
        self.made_from[uid] = action
        made = PodFacts(action.member, uid, self.version(), phase="Pending", annotations=marks)
        self.put(PODS, action.member, made)

    def create_volume(self, name: str) -> None:
        """Create a claim, unless there is one of that name."""
        if name not in self.volumes:
            self.writes += 1
            self.put(VOLUMES, name, VolumeFacts(name, self.version(), self.version()))

    def ensure_service(self, name: str) -> None:
        """Create a Service, unless there is one of that name."""
        if name not in self.objects[SERVICES]:
            self.writes += 1
            self.put(SERVICES, name, ServiceFacts(name, self.version(), self.version()))

    def ensure_budget(self, name: str, min_available: int) -> None:
        """Apply the PodDisruptionBudget."""
        self.writes += 1
        before = self.objects[BUDGETS].get(name)
        uid = before.uid if before is not None else self.version()
        made = BudgetFacts(name, uid, self.version(), ours=True, min_available=min_available)
        self.put(BUDGETS, name, made)

    def delete_at_once(self, kind: str, name: str, *, uid: str, resource_version: str) -> None:
        """Delete the Service or PodDisruptionBudget of that uid and version: nothing holds one."""
        found = self.objects[kind].get(name)
        if found is None or (found.uid, found.resource_version) != (uid, resource_version):
            raise ConflictError
        self.writes += 1
        self.drop(kind, name)

    def quarantine(self, name: str, uid: str, *, on: bool) -> None:
        """Label the claim of that uid, or take the label off."""
        found = self.volumes.get(name)
        if found is None or found.uid != uid:
            raise ConflictError
        self.writes += 1
        self.put(VOLUMES, name, replace(found, quarantined=on, resource_version=self.version()))

    def annotate(self, kind: str, name: str, uid: str, annotations: Mapping[str, str]) -> None:
        """Merge annotations into the object of that uid."""
        found = self.objects[kind].get(name)
        if found is None or found.uid != uid:
            raise ConflictError
        self.writes += 1
        merged = {**found.annotations, **annotations}
        self.put(kind, name, replace(found, annotations=merged, resource_version=self.version()))

    def delete(self, kind: str, name: str, *, uid: str, resource_version: str) -> None:
        """Delete the object of that uid and version."""
        if kind == PODS and name in self.objects[HELPERS]:
            kind = HELPERS
        found = self.objects[kind].get(name)
        facts = found.pod if kind == HELPERS and found is not None else found
        if facts is None or (facts.uid, facts.resource_version) != (uid, resource_version):
            raise ConflictError
        self.writes += 1
        self.terminate(kind, name)


class Cache:
    """One replica's informers: each kind as it was some events ago."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._read = dict.fromkeys(KINDS, 0)
        self.objects: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self.catch_up()

    def read(self, kind: str, count: int) -> None:
        """Receive some more events of a kind."""
        start = self._read[kind]
        events = self._server.log[kind][start : start + count]
        for event in events:
            if event.value is None:
                del self.objects[kind][event.name]
            else:
                self.objects[kind][event.name] = event.value
        self._read[kind] = start + len(events)

    def catch_up(self) -> None:
        """Receive everything."""
        for kind in KINDS:
            self.read(kind, len(self._server.log[kind]))

    def wait_for(self, positions: Mapping[str, int]) -> None:
        """Receive at least everything up to these positions."""
        for kind, position in positions.items():
            self.read(kind, max(0, position - self._read[kind]))
