"""Where the programs of the cluster are, by their names."""

from collections.abc import Mapping
from pathlib import Path

from tests.cluster import binaries

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
NODES = ("kube-scheduler", "kube-proxy", "kubelet")
ADDONS = ("coredns", "local-path-provisioner")


def control_plane() -> Mapping[str, Path]:
    """What a control plane without nodes needs."""
    return binaries.find(*CONTROL_PLANE)


def everything() -> Mapping[str, Path]:
    """What a cluster with nodes needs."""
    found = binaries.find(*CONTROL_PLANE, *NODES)
    for addon in ADDONS:
        found |= binaries.ensure(addon)
    return found
