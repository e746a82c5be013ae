"""A kubelet that runs the etcd of each Pod as a process of this machine, as the Pod asks for it.

The API server is real and has no nodes. A Pod's command is run with its wildcard addresses replaced by an
address of loopback of the member's own, its variables resolved from the annotations at each start, and its
data in a folder of its claim, or of the Pod itself for an emptyDir. Members find each other by the names that
they have in a cluster: each process sees a hosts file of ours, in a mount namespace of its own.
"""

import asyncio
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.api import names
from app.etcd.client import Dialer
from app.etcd.endpoint import Endpoint
from app.etcd.errors import EtcdError
from app.kube.api import Api
from app.kube.errors import Invalid, NotFound
from app.kube.informer import Informer
from app.kube.objects import CustomObject
from app.kube.resources import Resource
from app.ops.metrics import Metrics
from tests.integration.etcd.processes import program

WHOLE_PODS = Resource("", "v1", "pods", "Pod", CustomObject)
"""Pods with the whole of spec and status, which the operator does not read."""

STEP_SECONDS = 0.1
ANSWER_SECONDS = 0.5
RESTART_SECONDS = 0.5
_IN_A_MOUNT_NAMESPACE = (
    'mount --bind "$0" /etc/hosts && mount --bind "$0.resolv" /etc/resolv.conf && exec "$@"'
)


@dataclass(slots=True)
class Running:
    """A Pod's process."""

    uid: str
    folder: Path
    process: subprocess.Popen[bytes]
    started: float
    restarts: int = 0
    words: str = ""
    told: dict[str, Any] = field(default_factory=dict)


class Hosts:
    """Where members are: an address of loopback for each, and a hosts file that has their names in DNS.

    Nobody else is asked for a name: the only name server that processes know is one that is not there.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.addresses: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        self._block = f"127.{100 + os.getpid() % 150}.7"
        self._taken = itertools.count(1)
        file.with_name(f"{file.name}.resolv").write_text(
            "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
        )
        self._write()

    def know(
        self, cluster: str, namespace: str, members: Iterable[str], *, domains: Iterable[str] = ("",)
    ) -> None:
        """Give each member an address, under its name with each of these domains."""
        for member in members:
            if member not in self.addresses:
                self.move(member)
            self._names[member] = [
                names.member_host(member, cluster=cluster, namespace=namespace, domain=domain)
                for domain in domains
            ]
        self._write()

    def move(self, member: str) -> None:
        """Give a member an address, or another one from its next start on; its names go with it."""
        self.addresses[member] = f"{self._block}.{next(self._taken)}"
        self._write()

    def _write(self) -> None:
        lines = [f"{self.addresses[member]} {' '.join(hosts)}\n" for member, hosts in self._names.items()]
        self.file.write_text("127.0.0.1 localhost\n" + "".join(lines))


class ProgramKubelet:
    """Runs the Pods of one namespace until it is cancelled; `close` ends what runs."""

    def __init__(self, api: Api, namespace: str, dialer: Dialer, root: Path) -> None:
        self._api = api
        self._dialer = dialer
        self._root = root
        self._running: dict[str, Running] = {}
        self.hosts = Hosts(root / "hosts")
        self.hindered: set[str] = set()
        self.pods = Informer(
            api, WHOLE_PODS, namespace=namespace, label_selector="app=etcd", metrics=Metrics()
        )

    async def run(self) -> None:
        """Follow the Pods."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.pods.run())
            while True:
                await self._step()
                await asyncio.sleep(STEP_SECONDS)

    def close(self) -> None:
        """End every process."""
        for name in list(self._running):
            self._end(name)

    def kill(self, member: str) -> None:
        """End a member's process as a crash does; the kubelet starts it again where its Pod says so."""
        self._running[member].process.send_signal(signal.SIGKILL)

    def wipe(self, member: str) -> None:
        """Lose what a member has on its disk, and end it; it is started again where its Pod says so."""
        running = self._running[member]
        running.process.kill()
        running.process.wait()
        shutil.rmtree(running.folder / "data")

    def log(self, member: str) -> str:
        """What a member has said since its Pod was made."""
        return (self._running[member].folder.parent / f"{member}.log").read_text(errors="replace")

    async def _step(self) -> None:
        pods = {pod.metadata.name: pod for pod in self.pods.store.values()}
        for name, running in list(self._running.items()):
            if name not in pods or pods[name].metadata.uid != running.uid:
                self._end(name)
        for name, pod in pods.items():
            if name in self.hindered or pod.status.get("phase") in {"Failed", "Succeeded"}:
                continue
            if name not in self._running:
                self._running[name] = self._start(pod, restarts=0)
            await self._tell(pod, self._running[name])

    def _end(self, name: str) -> None:
        running = self._running.pop(name)
        running.process.kill()
        running.process.wait()
        if running.uid in running.folder.name:
            shutil.rmtree(running.folder, ignore_errors=True)  # an emptyDir goes with its Pod

    def _start(self, pod: CustomObject, *, restarts: int) -> Running:
        name, container = pod.metadata.name, pod.spec["containers"][0]
        claim = next(
            (one["persistentVolumeClaim"] for one in pod.spec["volumes"] if "persistentVolumeClaim" in one),
            None,
        )
        folder = self._root / (f"claim-{claim['claimName']}" if claim else f"pod-{pod.metadata.uid}")
        folder.mkdir(exist_ok=True)
        version = container["image"].rpartition(":v")[2]
        address = self.hosts.addresses[name]
        words = {"/usr/local/bin/etcd": str(program(version)), "0.0.0.0": address, "/var/etcd": str(folder)}
        command = [_replaced(word, words) for word in container["command"]]
        with (self._root / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", _IN_A_MOUNT_NAMESPACE, str(self.hosts.file), *command],
                env=_environment(container, pod),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return Running(pod.metadata.uid, folder, process, asyncio.get_running_loop().time(), restarts)

    async def _tell(self, pod: CustomObject, running: Running) -> None:
        name, code = pod.metadata.name, running.process.poll()
        if code is not None and pod.spec["restartPolicy"] == "Always":
            told = pod.spec["containers"][0].get("terminationMessagePolicy") == "FallbackToLogsOnError"
            running.words = self.log(name)[-2000:] if told else ""
            if asyncio.get_running_loop().time() - running.started > RESTART_SECONDS:
                again = self._start(pod, restarts=running.restarts + 1)
                again.words = running.words
                self._running[name] = running = again
                code = None
        ready = code is None and await self._serves(self.hosts.addresses[name])
        wanted = _status(running, code, address=self.hosts.addresses[name], ready=ready, pod=pod)
        if running.told == wanted:
            return
        with suppress(NotFound, Invalid):
            await self._api.patch(
                WHOLE_PODS, pod.metadata.namespace, name, {"status": wanted}, subresource="status"
            )
            running.told = wanted

    async def _serves(self, address: str) -> bool:
        try:
            async with self._dialer.dial(Endpoint(address)) as client:
                status = await client.status(deadline=ANSWER_SECONDS)
        except EtcdError:
            return False
        return bool(status.leader) and not status.is_learner


def _replaced(word: str, words: dict[str, str]) -> str:
    for old, new in words.items():
        word = word.replace(old, new)
    return word


def _environment(container: dict[str, Any], pod: CustomObject) -> dict[str, str]:
    given = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
    for variable in container.get("env", []):
        path = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
        key = path.removeprefix("metadata.annotations['").removesuffix("']")
        given[variable["name"]] = pod.metadata.annotation(key) if path else variable.get("value", "")
    return given


def _status(
    running: Running, code: int | None, *, address: str, ready: bool, pod: CustomObject
) -> dict[str, Any]:
    ended = {"terminated": {"exitCode": code, "reason": "Error", "message": running.words}}
    over = code is not None and pod.spec["restartPolicy"] != "Always"
    return {
        "phase": "Failed" if over else "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [
            {
                "name": pod.spec["containers"][0]["name"],
                "image": "etcd",
                "imageID": "etcd",
                "ready": ready,
                "started": code is None,
                "restartCount": running.restarts,
                "state": {"running": {}} if code is None else ended,
            }
        ],
    }
