"""However a cluster ends, nothing of it is left; and of whatever is left, `up` makes a whole one."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests.cluster import links, state
from tests.cluster.cgroups import Group
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.cluster.machine import checked
from tests.cluster.processes import Process
from tests.cluster.waiting import wait_until

pytestmark = pytest.mark.e2e

_INTERRUPTIBLE = ("env", "--default-signal=INT")
"""Who runs in the background of a shell, as tests may, ignores the interrupt, and so would the child."""

_CONTROL_PLANE_TESTS = str(Path(__file__).parents[1] / "integration" / "test_harness_control_plane.py")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Clusters of the test's own; whatever happens, they end with it."""
    place = tmp_path / "clusters"
    monkeypatch.setenv(state.LOCATION, str(place))
    yield place
    for name in state.names():
        Cluster(name).down()


class Traces:
    """What of a cluster can be seen in the kernel and on the disk."""

    def __init__(self, name: str) -> None:
        self._folder = state.root() / name
        record = state.State(name).read()
        assert record
        self._link = f"{links.PREFIX}{record.number}"
        self._group = Group(PurePosixPath(self._link))
        self.processes = self._group.processes()

    def left(self) -> dict[str, object]:
        """What is still there."""
        found = {
            "folder": self._folder.exists(),
            "cgroups": self._group.exists(),
            "processes": [pid for pid in self.processes if Process.of(pid)],
            "link": self._link in checked(["ip", "link", "show"]),
            "routes": self._link in checked(["ip", "route", "show", "table", "all"]),
            "mounts": str(self._folder) in Path("/proc/self/mounts").read_text(),
        }
        return {what: value for what, value in found.items() if value}


def _command(*arguments: str) -> subprocess.Popen[str]:
    """The command line in a process group of its own, as a terminal would have it."""
    command = [*_INTERRUPTIBLE, sys.executable, "-m", "tests.cluster", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, process_group=0)


def _wait_for(cluster: Cluster, machine: str, program: str) -> None:
    wait_until(lambda: cluster.machine(machine).find(program), timeout=60, what=program, every=0.01)


def test_two_beside_each_other() -> None:
    one, other = Cluster("one").up(0), Cluster("other").up(0)
    assert one.addresses.api != other.addresses.api
    one.kubectl("create", "namespace", "mine")
    with pytest.raises(HarnessError, match="NotFound"):
        other.kubectl("get", "namespace", "mine")
    traces = Traces("one")
    one.down()
    assert not traces.left()
    assert not one.exists
    assert other.kubectl("get", "namespace", "default")


def test_up_again_leaves_a_healthy_one_alone() -> None:
    before = Cluster("same").up(0).control_plane.machine.pid
    assert Cluster("same").up(0).control_plane.machine.pid == before


@pytest.mark.parametrize("program", ["etcd", "kube-apiserver"])
def test_up_replaces_a_broken_one(program: str) -> None:
    cluster = Cluster("broken").up(0)
    pid = cluster.control_plane.machine.find(program)
    assert pid
    os.kill(pid, signal.SIGKILL)
    traces = Traces("broken")
    cluster.up(0)
    assert cluster.kubectl("get", "namespace", "default")
    assert not [pid for pid in traces.processes if Process.of(pid)]


@pytest.mark.parametrize(
    ("machine", "program", "number"),
    [
        ("node1", "containerd", signal.SIGINT),
        ("control-plane", "kube-apiserver", signal.SIGTERM),
        ("node2", "kubelet", signal.SIGINT),
    ],
)
def test_an_interrupted_up_leaves_nothing(machine: str, program: str, number: signal.Signals) -> None:
    with _command("up", "--name", "interrupted", "--nodes", "2") as up:
        _wait_for(Cluster("interrupted"), machine, program)
        traces = Traces("interrupted")
        os.killpg(up.pid, number)
        _, said = up.communicate(timeout=60)
    assert up.returncode == 130, said
    assert not traces.left()


def test_an_impatient_second_interrupt_changes_nothing() -> None:
    with _command("up", "--name", "interrupted", "--nodes", "1") as up:
        _wait_for(Cluster("interrupted"), "node1", "containerd")
        traces = Traces("interrupted")
        for _ in range(2):
            os.killpg(up.pid, signal.SIGINT)
        _, said = up.communicate(timeout=60)
    assert up.returncode == 130, said
    assert not traces.left()


def test_an_interrupted_test_session_leaves_nothing() -> None:
    command = [
        *_INTERRUPTIBLE,
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        _CONTROL_PLANE_TESTS,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0) as session:
        cluster = Cluster(f"pytest-{session.pid}-api")
        wait_until(lambda: cluster.kubectl("get", "namespace", "default"), timeout=60, what="the cluster")
        traces = Traces(cluster.name)
        os.killpg(session.pid, signal.SIGINT)
        said, _ = session.communicate(timeout=60)
    assert session.returncode == pytest.ExitCode.INTERRUPTED, said
    assert not traces.left()


def test_a_cluster_whose_folder_was_deleted_makes_room() -> None:
    cluster = Cluster("deleted").up(0)
    number, traces = cluster.record.number, Traces("deleted")
    shutil.rmtree(state.State("deleted").folder)
    assert traces.left()
    assert Cluster("next").up(0).record.number <= number
    assert not [pid for pid in traces.processes if Process.of(pid)]


@pytest.mark.parametrize(("machine", "program"), [("node1", "containerd"), ("node2", "kubelet")])
def test_what_a_killed_up_left_goes_with_down(machine: str, program: str) -> None:
    with _command("up", "--name", "killed", "--nodes", "2") as up:
        _wait_for(Cluster("killed"), machine, program)
        up.kill()
    traces = Traces("killed")
    assert traces.left()
    Cluster("killed").down()
    assert not traces.left()


def test_up_after_a_killed_up() -> None:
    with _command("up", "--name", "killed", "--nodes", "0") as up:
        _wait_for(Cluster("killed"), "control-plane", "etcd")
        up.kill()
    assert Cluster("killed").up(0).kubectl("get", "namespace", "default")


def test_a_cluster_whose_owner_ended_is_abandoned() -> None:
    with subprocess.Popen(["sleep", "infinity"]) as owner:
        Cluster("mine").up(0, owner=Process.of(os.getpid()))
        Cluster("theirs").up(0, owner=Process.of(owner.pid))
        Cluster.down_abandoned()
        assert Cluster("theirs").exists
        owner.kill()
    traces = Traces("theirs")
    Cluster.down_abandoned()
    assert not traces.left()
    assert Cluster("mine").exists


def test_down_without_a_cluster_is_no_error(folder: Path) -> None:
    Cluster("nothing").down()
    assert not list(folder.iterdir())
