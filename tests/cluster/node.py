"""A node: containerd, the kubelet and kube-proxy, on a machine of their own."""

import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import yaml

from tests.cluster.addresses import Addresses
from tests.cluster.controlplane import write
from tests.cluster.errors import HarnessError
from tests.cluster.images import PAUSE
from tests.cluster.machine import DISK, Machine
from tests.cluster.pki import Authority
from tests.cluster.waiting import wait_until

SOCKET = f"{DISK}/containerd.sock"
VOLUMES = "volumes"
"""Where on its disk a node keeps the local volumes."""

_PLUGINS = "/usr/lib/cni"

# Without CAP_SYS_RESOURCE, as in some containers, a score for the OOM killer can't be lowered.
# The snapshotters that aren't used would each look for what they need; `opt` makes a folder in /opt.
_CONTAINERD = f"""version = 2
root = "{DISK}/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.native",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
]
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{_PLUGINS}"
    conf_dir = "{DISK}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
"""


def containerd(machine: Machine) -> None:
    """Start containerd on a machine, and wait until it answers."""
    write(machine.disk / "containerd.toml", _CONTAINERD)
    machine.spawn("containerd", f"--config={DISK}/containerd.toml")

    def answers() -> bool:
        machine.check("containerd")
        ctr(machine, "version")
        return True

    wait_until(answers, timeout=30, what=f"containerd on {machine.name}")


def ctr(machine: Machine, *arguments: str, stdin: Path | None = None, timeout: float = 60) -> str:
    """Run containerd's command line in the namespace of the kubelet's containers."""
    return machine.run(
        "ctr", f"--address={SOCKET}", "--namespace=k8s.io", *arguments, stdin=stdin, timeout=timeout
    )


def has_image(machine: Machine, archive: Path) -> bool:
    """Whether exactly this image is there."""
    with tarfile.open(archive) as tar:
        file = tar.extractfile("index.json")
        index = json.load(file) if file else {}
    listed = ctr(machine, "images", "list").splitlines()
    there = {(line.split()[0], line.split()[2]) for line in listed}
    wanted = {
        (image["annotations"]["io.containerd.image.name"], image["digest"])
        for image in index.get("manifests", ())
    }
    return bool(wanted) and wanted <= there


def import_image(machine: Machine, archive: Path) -> None:
    """Load an image's archive."""
    ctr(machine, "images", "import", "-", stdin=archive, timeout=300)


def proxy(machine: Machine, name: str, addresses: Addresses, program: Path) -> None:
    """Start a kube-proxy that takes itself for the one on the node `name`."""
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": f"{DISK}/kube-proxy.kubeconfig"},
        "clusterCIDR": str(addresses.pods),
        "mode": "nftables",
        "nftables": {"minSyncPeriod": "100ms"},
        "hostnameOverride": name,
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "healthzBindAddress": "",
        "metricsBindAddress": "127.0.0.1:10249",
    }
    write(machine.disk / "kube-proxy.yaml", yaml.safe_dump(config))
    machine.spawn(program, f"--config={DISK}/kube-proxy.yaml")


@dataclass(frozen=True, slots=True)
class Node:
    """The node at `position`, counted from 1."""

    position: int
    machine: Machine
    addresses: Addresses
    programs: Mapping[str, Path]

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def address(self) -> IPv4Address:
        return self.addresses.node(self.position)

    def prepare(self, authority: Authority) -> None:
        """Write certificates and configuration."""
        disk = self.machine.disk
        pair = authority.issue(f"system:node:{self.name}", group="system:nodes", addresses=(self.address,))
        write(disk / "pki" / "ca.crt", authority.pair.certificate)
        write(disk / "pki" / "kubelet.crt", pair.certificate)
        write(disk / "pki" / "kubelet.key", pair.key)
        write(disk / "kubelet.kubeconfig", authority.kubeconfig(self.addresses.api, pair))
        proxy_user = authority.issue("system:kube-proxy")
        write(disk / "kube-proxy.kubeconfig", authority.kubeconfig(self.addresses.api, proxy_user))
        write(disk / "kubelet.yaml", yaml.safe_dump(self._kubelet_config()))
        write(disk / "cni" / "10-pods.conflist", json.dumps(self._network_config()))
        # Pods that ask for the node's own resolver get one that knows nothing: no name is looked up outside.
        write(disk / "resolv.conf", "")

    def start(self) -> None:
        """Start what needs no API server; to be called on a machine that has just been booted."""
        containerd(self.machine)

    def join(self) -> None:
        """Start the kubelet and kube-proxy."""
        self.machine.spawn(
            self.programs["kubelet"],
            f"--config={DISK}/kubelet.yaml",
            f"--kubeconfig={DISK}/kubelet.kubeconfig",
            f"--hostname-override={self.name}",
            f"--node-ip={self.address}",
            f"--root-dir={DISK}/kubelet",
            f"--cert-dir={DISK}/kubelet-pki",
        )
        proxy(self.machine, self.name, self.addresses, self.programs["kube-proxy"])

    def check(self) -> None:
        """Raise ProgramEndedError if one of its programs ended."""
        for program in ("containerd", "kubelet", "kube-proxy"):
            self.machine.check(program)

    def _kubelet_config(self) -> dict[str, object]:
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": f"{DISK}/pki/ca.crt"},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "tlsCertFile": f"{DISK}/pki/kubelet.crt",
            "tlsPrivateKeyFile": f"{DISK}/pki/kubelet.key",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.machine.group.path}",
            "failSwapOn": False,
            "failCgroupV1": False,
            "enforceNodeAllocatable": [],
            "clusterDNS": [str(self.addresses.dns)],
            "clusterDomain": "cluster.local",
            "resolvConf": f"{DISK}/resolv.conf",
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "serializeImagePulls": False,
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {
                "memory.available": "100Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
            },
            "volumePluginDir": f"{DISK}/volume-plugins",
            # A tenth of the usual: what a node says is at most so old, and its loss is noticed in seconds.
            "nodeStatusUpdateFrequency": "2s",
            "nodeStatusReportFrequency": "30s",
            "nodeLeaseDurationSeconds": 12,
            "syncFrequency": "10s",
            "kubeAPIQPS": 100,
            "kubeAPIBurst": 200,
            # Here: go on where a parameter of the host can't be set.
            "featureGates": {"KubeletInUserNamespace": True},
        }

    def _network_config(self) -> dict[str, object]:
        """A routed link for each Pod: traffic between Pods of a node, too, passes kube-proxy's rules."""
        addresses = {
            "type": "host-local",
            "ranges": [[{"subnet": str(self.addresses.node_pods(self.position))}]],
            "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": "/run/cni",  # forgotten with a restart, as the Pods' networks are
        }
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": addresses}]}


def require_network_plugins() -> None:
    """Raise HarnessError if the network plugins aren't where Debian puts them."""
    if not Path(_PLUGINS, "ptp").exists():
        raise HarnessError(f"{_PLUGINS}/ptp is missing: apt-get install containernetworking-plugins")
