import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cluster import state
from tests.cluster.errors import HarnessError
from tests.cluster.processes import Process


@pytest.fixture(autouse=True)
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "clusters"
    monkeypatch.setenv(state.LOCATION, str(place))
    return place


def _write(name: str, content: str) -> None:
    folder = state.State(name).folder
    folder.mkdir(parents=True)
    (folder / "cluster.json").write_text(content)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "ä"])
def test_a_name_that_is_no_folder(name: str) -> None:
    with pytest.raises(HarnessError, match="can't be a cluster's name"):
        state.State(name)


def test_where_clusters_are(clusters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert state.root() == clusters
    monkeypatch.delenv(state.LOCATION)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert state.root() == Path("/state/etcd-operator/clusters")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert state.root() == Path("/home/me/.local/state/etcd-operator/clusters")


def test_names() -> None:
    assert state.names() == []
    _write("b", "{}")
    _write("a", "{}")
    assert state.names() == ["a", "b"]


def test_a_record() -> None:
    _write("a", '{"number": 3, "nodes": 2, "owner": {"pid": 7, "started": 99}}')
    assert state.State("a").read() == state.Record(number=3, nodes=2, owner=Process(pid=7, started=99))


@pytest.mark.parametrize("content", ["", '{"number": 3, "no', '{"number": "three"}'])
def test_a_record_that_was_not_written_to_its_end(content: str) -> None:
    _write("a", content)
    assert state.State("a").read() is None


def test_an_owner_that_ended() -> None:
    mine = Process.of(os.getpid())
    assert mine
    assert mine.alive
    with subprocess.Popen(["sleep", "infinity"]) as sleeping:
        other = Process.of(sleeping.pid)
        assert other
        assert other.alive
        sleeping.kill()
    assert not other.alive
    assert not Process(pid=mine.pid, started=mine.started - 1).alive, "another one had its number before"


_HOLD_THEN_REMOVE = """
import sys
from tests.cluster.state import State
with State("a").locked():
    print("holding", flush=True)
    sys.stdin.read()
    State("a").folder.rmdir()
"""


def test_who_waits_for_a_folder_that_is_removed_gets_a_new_one() -> None:
    command = [sys.executable, "-c", _HOLD_THEN_REMOVE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"holding\n"
        releasing = threading.Thread(target=holder.communicate)
        releasing.start()
        with state.State("a").locked():
            releasing.join()
            assert state.State("a").folder.is_dir()


def test_a_folder_that_is_removed_before_it_is_opened_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    open_really = os.open
    removed: list[Path] = []

    def open_late(path: Path, flags: int) -> int:
        if not removed:
            path.rmdir()
            removed.append(path)
        return open_really(path, flags)

    monkeypatch.setattr(os, "open", open_late)
    with state.State("a").locked():
        assert state.State("a").folder.is_dir()
    assert removed


def test_a_file_where_the_folder_should_be_is_told(clusters: Path) -> None:
    clusters.mkdir()
    (clusters / "a").touch()
    with pytest.raises(FileExistsError), state.State("a").locked():
        pass
