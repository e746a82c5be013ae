"""What benchmarks run on, brought up when the first one asks for it and shared by all that follow."""

import os
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster import images, operator_image
from tests.cluster.cluster import Cluster
from tests.cluster.processes import Process
from tests.cluster.progress import step

ETCD_VERSION = "3.6.16"
OPERATOR_NAMESPACE = "etcd-operator-system"
OPERATOR = "etcd-operator"

PROJECT = Path(__file__).parents[1]
_NODES = 3


class Stage:
    """The clusters of one run. Those that were up before are used and left; what it brings up it takes down.

    `repetitions` is how often each side of a benchmark is measured.
    """

    def __init__(self, *, name: str = "bench", repetitions: int = 7) -> None:
        self.repetitions = repetitions
        self._name = name
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        Cluster.down_abandoned()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    @cached_property
    def cluster(self) -> Cluster:
        """A cluster with three nodes and the operator in it, as the manifests ship it, ready."""
        archives = [images.ensure_etcd_image(ETCD_VERSION), operator_image.operator_image()]
        cluster, was_up = self._up(self._name, _NODES, archives)
        with step("Deploying the operator"):
            manifests = str(PROJECT / "manifests" / "default")
            cluster.kubectl("apply", "--server-side", "--force-conflicts", f"--kustomize={manifests}")
            deployment = ("-n", OPERATOR_NAMESPACE, f"deployment/{OPERATOR}")
            if was_up:  # its Pods may run an earlier image of this name
                cluster.kubectl("rollout", "restart", *deployment)
            cluster.kubectl("rollout", "status", *deployment, "--timeout=180s", timeout=200)
        return cluster

    @cached_property
    def control_plane(self) -> Cluster:
        """An API server with its controllers and no nodes."""
        return self._up(f"{self._name}-api", 0, [])[0]

    def _up(self, name: str, nodes: int, archives: list[Path]) -> tuple[Cluster, bool]:
        cluster = Cluster(name)
        was_up = cluster.exists
        if not was_up:
            self._undo.callback(cluster.down)
        cluster.up(nodes, images=archives, owner=None if was_up else Process.of(os.getpid()))
        return cluster, was_up
