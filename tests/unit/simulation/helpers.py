"""The Pods of a recovery: one reads how far a log reaches, one runs etcd so that it forgets the others.

Each runs beside the claim of a member that does not run, once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.etcd import identity
from app.plan.observed import Helper, PodFacts, Task
from tests.unit.simulation import asking
from tests.unit.simulation.checks import require
from tests.unit.simulation.server import HELPERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.plan.actions import CreateHelper
    from app.plan.observed import ListedMember
    from tests.unit.simulation.kubelet import Kubelet
    from tests.unit.simulation.server import Server


def create(server: Server, action: CreateHelper) -> None:
    """Create the Pod of a task, unless there is one of that name."""
    name = action.task.pod(action.start.member)
    if name not in server.objects[HELPERS]:
        server.writes += 1
        made = PodFacts(name, server.version(), server.version(), phase="Pending")
        server.put(HELPERS, name, Helper(made, action.start.member, action.task, action.token))


@dataclass(slots=True)
class Hands:
    """Runs these Pods for a kubelet."""

    server: Server
    kubelet: Kubelet

    def step_all(self) -> None:
        """Bring each a step further."""
        for helper in list(self.server.objects[HELPERS].values()):
            if helper.pod.terminating:
                if helper.task == Task.FORCE and helper.pod.running:
                    self.kubelet.kill(helper.member)
                self.server.drop(HELPERS, helper.pod.name)
                self.kubelet.lose_folders()
            elif helper.pod.phase == "Pending" and self._mounts(helper.member):
                self._run(helper)

    def _mounts(self, member: str) -> bool:
        claim = self.server.volumes.get(member)
        return claim is not None and not claim.terminating and member not in self.server.pods

    def _run(self, helper: Helper) -> None:
        process = self.kubelet.etcd.processes.get(helper.member)
        claim = self.server.volumes[helper.member]
        data = process.data if process is not None else None
        if self.kubelet.folders.get(helper.member) != claim.uid:
            data = None
        if helper.task == Task.INSPECT or data is None:
            said = "there is no log"
            if data is not None:
                ids = {
                    "clusterID": identity.text(data.cluster_id),
                    "memberID": identity.text(data.member_id),
                }
                reach = {"term": data.state.term, "index": data.state.index, "commit": data.state.index}
                said = json.dumps({**ids, **reach, "tail": "clean"})
            self._put(helper, said=said, phase="Succeeded", started=True)
            return
        require(
            not [name for name in self.server.pods if self.kubelet.process_of(name) is not None],
            "a member runs beside the one that forgets it",
        )
        exit_ = self.kubelet.etcd.start(helper.member, cluster={}, state="existing", force_new_cluster=True)
        if exit_ is None:
            self._put(helper, phase="Running", running=True, started=True, ip="10.1.0.1")
        else:
            self._put(helper, said=exit_.value, phase="Failed", started=True)

    def _put(self, helper: Helper, *, said: str = "", **changes: Any) -> None:
        facts = replace(helper.pod, resource_version=self.server.version(), **changes)
        self.server.put(HELPERS, facts.name, replace(helper, pod=facts, said=said))


def heard(kubelet: Kubelet, helpers: Mapping[str, Helper]) -> dict[str, Helper]:
    """The Pods with what the etcd in them says."""
    return {name: _hear(kubelet, helper) for name, helper in helpers.items()}


def _hear(kubelet: Kubelet, helper: Helper) -> Helper:
    process = kubelet.process_of(helper.member)
    if helper.task != Task.FORCE or not helper.pod.running or process is None:
        return helper
    members: tuple[ListedMember, ...] | None = asking.members(kubelet.etcd, process)
    return replace(helper, answer=asking.answer(kubelet.etcd, process), members=members)
