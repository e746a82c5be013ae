"""What a cluster has besides Kubernetes itself: names and volumes.

CoreDNS and the local-path provisioner run as programs beside the API server, not as Pods, so that faults of
nodes don't take them along. The Service kube-dns leads to CoreDNS, which answers for the cluster and asks
nobody else. The provisioner runs a Pod on a node to make a volume's folder.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.cluster import node
from tests.cluster.addresses import Addresses
from tests.cluster.controlplane import write
from tests.cluster.images import BUSYBOX
from tests.cluster.machine import DISK, Machine

_STORAGE = "local-path-storage"
_SHELL = "#!/bin/sh\nset -eu\n"


def start(machine: Machine, addresses: Addresses, programs: Mapping[str, Path]) -> None:
    """Create the objects that belong to them, and start the programs."""
    corefile = f"""\
cluster.local in-addr.arpa {{
  bind {addresses.control_plane}
  errors
  kubernetes {{
    kubeconfig {DISK}/coredns.kubeconfig
    pods verified
    ttl 1
  }}
}}
. {{
  bind {addresses.control_plane}
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""
    write(machine.disk / "Corefile", corefile)
    machine.spawn(programs["coredns"], f"-conf={DISK}/Corefile")
    write(machine.disk / "addons.json", _manifests(addresses))
    kubeconfig = f"{DISK}/local-path-provisioner.kubeconfig"
    machine.run(
        str(programs["kubectl"]), f"--kubeconfig={kubeconfig}", "create", f"--filename={DISK}/addons.json"
    )
    machine.spawn(
        programs["local-path-provisioner"],
        "start",
        f"--kubeconfig={kubeconfig}",
        f"--namespace={_STORAGE}",
        "--service-account-name=provisioner",
        f"--helper-image={BUSYBOX}",
    )


def _manifests(addresses: Addresses) -> str:
    items = [*_names(addresses), *_volumes()]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def _names(addresses: Addresses) -> list[dict[str, object]]:
    ports = [
        {"name": name, "port": 53, "protocol": protocol}
        for name, protocol in (("dns", "UDP"), ("dns-tcp", "TCP"))
    ]
    about = {"name": "kube-dns", "namespace": "kube-system"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": about,
            "spec": {"clusterIP": str(addresses.dns), "ports": ports},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": about | {"labels": {"kubernetes.io/service-name": "kube-dns"}},
            "addressType": "IPv4",
            "ports": ports,
            "endpoints": [{"addresses": [str(addresses.control_plane)], "conditions": {"ready": True}}],
        },
    ]


def _volumes() -> list[dict[str, object]]:
    paths = [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [f"{DISK}/{node.VOLUMES}"]}]
    helper = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "helper-pod"},
        "spec": {
            "containers": [{"name": "helper-pod", "image": BUSYBOX}],
            "terminationGracePeriodSeconds": 0,
        },
    }
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _STORAGE}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "provisioner", "namespace": _STORAGE},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "local-path-config", "namespace": _STORAGE},
            "data": {
                "config.json": json.dumps({"nodePathMap": paths}),
                "setup": f'{_SHELL}mkdir -m 0777 -p "$VOL_DIR"\n',
                "teardown": f'{_SHELL}rm -rf "$VOL_DIR"\n',
                "helperPod.yaml": json.dumps(helper),
            },
        },
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "local-path", "annotations": default},
            "provisioner": "rancher.io/local-path",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    ]
