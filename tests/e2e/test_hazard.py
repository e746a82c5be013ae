"""The trap of a static bootstrap: a member that loses its data must not found the cluster anew."""

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster import faults
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.kube import Object, eventually
from tests.e2e.subject import Subject

pytestmark = pytest.mark.e2e

KILLED = 137


def data_folder(cluster: Cluster, pod: Object) -> Path:
    """Where the node keeps a member's emptyDir."""
    volumes = f"kubelet/pods/{pod['metadata']['uid']}/volumes"
    return cluster.machine(pod["spec"]["nodeName"]).disk / volumes / "kubernetes.io~empty-dir/etcd-data/data"


def last_exit(subject: Subject, member: str) -> int:
    """The exit code with which a member's container ended last; HarnessError if it hasn't."""
    (status,) = subject.pod(member)["status"]["containerStatuses"]
    ended = status["state"].get("terminated") or status["lastState"].get("terminated")
    if ended is None:
        raise HarnessError(f"{member} has not ended yet")
    code: int = ended["exitCode"]
    return code


def test_X9_a_member_wiped_right_after_the_bootstrap_while_another_is_down_exits(
    cluster: Cluster, subject: Subject, client: EtcdClient
) -> None:
    """A and B acknowledge writes without C. Then B's data is gone, A is down, and C is back.

    B and C would be a quorum: with the settings of their founding they would agree on an empty cluster under
    the same ids, and A's return would not bring the writes back.
    """
    subject.apply(size=3)
    subject.wait("Available")
    a, b, c = sorted(subject.pods())
    ids, cluster_id = client.member_ids(subject.url), subject.status["clusterID"]
    acknowledged = ",".join(subject.member_url(member) for member in (a, b))

    with ExitStack() as c_down:
        c_down.enter_context(faults.freeze_container(cluster, subject.namespace, c))
        eventually(lambda: client.ctl(acknowledged, "put", "kept", "yes"), what="A and B to go on without C")
        with faults.freeze_container(cluster, subject.namespace, a):
            shutil.rmtree(data_folder(cluster, subject.pod(b)))
            faults.kill_container(cluster, subject.namespace, b)
            c_down.close()
            exited = eventually(
                lambda: code if (code := last_exit(subject, b)) != KILLED else 0, what="B to exit by itself"
            )
            assert exited == 1
            reason = "couldn't find local name"
            eventually(lambda: reason in subject.kubectl("logs", b, "--tail=5"), what="its words")
            with pytest.raises(HarnessError, match="deadline exceeded"):
                client.get(subject.member_url(c), "kept")

    eventually(lambda: client.get(subject.url, "kept") == "yes", what="what was acknowledged")
    assert client.get(subject.member_url(c), "kept") == "yes"
    assert client.member_ids(subject.member_url(a)) == ids
    subject.wait("Available")
    assert subject.status["clusterID"] == cluster_id
    assert b in subject.status["members"]["unready"]
