"""A kubelet that runs models of etcd instead of containers.

The API server is real and has no nodes. Each Pod of a member gets an address, a process of the model that is
started as its annotations say at that moment, and a status that tells what the process does.
"""

import asyncio
import itertools
import os
from typing import Any

from app.etcd.fake import FakeDialer, Process, SimulatedCluster
from app.kube.api import Api
from app.kube.errors import NotFound
from app.kube.informer import Informer
from app.kube.objects import Pod
from app.kube.resources import PODS
from app.ops.metrics import Metrics

PREFIX = "etcd.database.coreos.com/"


class ModelKubelet:
    """Runs the Pods of one namespace until it is cancelled."""

    def __init__(self, api: Api, namespace: str, model: SimulatedCluster, dialer: FakeDialer) -> None:
        self.model = model
        self.on_claims = False
        """Whether members keep their data when their Pods go."""
        self._api = api
        self._dialer = dialer
        # Of our own, should another run of the tests be under way on this machine.
        block = f"127.{100 + os.getpid() % 150}"
        self._addresses = (f"{block}.{number // 250}.{number % 250 + 1}" for number in itertools.count())
        self._work: asyncio.Queue[None] = asyncio.Queue()
        self._uids: dict[str, str] = {}
        self.pods = Informer(api, PODS, namespace=namespace, label_selector="app=etcd", metrics=Metrics())
        self.pods.subscribe(lambda _old, _new: self._work.put_nowait(None))

    async def run(self) -> None:
        """Follow the Pods."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.pods.run())
            group.create_task(self._loop())

    async def _loop(self) -> None:
        while True:
            await self._work.get()
            self._stop_what_is_gone()
            for pod in self.pods.store.values():
                if self._uids.get(pod.metadata.name) != pod.metadata.uid:
                    self._start(pod)
            for pod in self.pods.store.values():
                await self._tell(pod)

    def _stop_what_is_gone(self) -> None:
        present = {pod.metadata.name: pod.metadata.uid for pod in self.pods.store.values()}
        for name, uid in list(self._uids.items()):
            if present.get(name) != uid:
                del self._uids[name]
                self.model.stop(name)
                if not self.on_claims:
                    self.model.wipe(name)  # an emptyDir goes with its Pod

    def _start(self, pod: Pod) -> None:
        name = pod.metadata.name
        urls = dict(
            entry.split("=", 1) for entry in pod.metadata.annotation(PREFIX + "initial-cluster").split(",")
        )
        if name not in self.model.processes:
            self.model.create(name, peer_url=urls.get(name, ""))
        self._uids[name] = pod.metadata.uid
        self._dialer.addresses[next(self._addresses)] = name
        self.model.start(
            name,
            cluster=urls,
            state=pod.metadata.annotation(PREFIX + "initial-cluster-state"),
            token=pod.metadata.annotation(PREFIX + "initial-cluster-token"),
        )

    async def _tell(self, pod: Pod) -> None:
        name = pod.metadata.name
        process = self.model.processes[name]
        address = next(host for host, member in reversed(self._dialer.addresses.items()) if member == name)
        ready = process.running and process.joined and self.model.leader(process) is not None
        wanted = _status(process, address=address, ready=ready)
        if pod.status.pod_ip == address and pod.status.container_statuses[0].ready == ready:
            return
        try:
            await self._api.patch(
                PODS, pod.metadata.namespace, name, {"status": wanted}, subresource="status"
            )
        except NotFound:
            return


def _status(process: Process, *, address: str, ready: bool) -> dict[str, Any]:
    state: dict[str, Any] = {"running": {}} if process.running else {"terminated": {"exitCode": 1}}
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [
            {
                "name": "etcd",
                "image": "etcd",
                "imageID": "etcd",
                "ready": ready,
                "started": process.running,
                "restartCount": 0,
                "state": state,
            }
        ],
    }
