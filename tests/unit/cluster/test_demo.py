import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import demo
from tests.cluster.errors import HarnessError

Put = Callable[[str, str], Path]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "it's a folder" / "demo"
    monkeypatch.setattr(demo, "FOLDER", path)
    monkeypatch.setattr(demo, "_COMPLETE", path / "image")
    monkeypatch.setattr("signal.signal", lambda number, handler: None)  # that of this process stays
    return path


def test_its_kubectl_talks_to_the_demo_whatever_the_environment_says(
    folder: Path, program: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = program("kubectl", 'cat "$KUBECONFIG"; echo "$@"')
    demo._leave_tools("kubeconfig of the demo\n", real)
    monkeypatch.setenv("KUBECONFIG", "/etc/production")
    said = subprocess.run([folder / "kubectl", "get", "a b"], capture_output=True, text=True, check=True)
    assert said.stdout == "kubeconfig of the demo\nget a b\n"
    assert (folder / "kubeconfig").stat().st_mode & 0o077 == 0


def test_a_context_that_is_not_there_is_one_line(
    folder: Path, program: Put, capsys: pytest.CaptureFixture[str]
) -> None:
    program("kubectl", "echo 'error: cannot locate context x' >&2; exit 1")
    assert demo.main(["up", "--context", "x"]) == 1
    said = capsys.readouterr()
    assert "cannot locate context x" in said.err
    assert "Traceback" not in said.err
    assert not said.out


def test_an_interruption_takes_back_what_was_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken_down: list[str] = []

    def begin() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_use_own_cluster", begin)
    monkeypatch.setattr(demo, "down", taken_down.append)
    assert demo.main(["up"]) == 130
    assert taken_down == [""]


def test_an_interruption_leaves_what_was_complete_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(parents=True)
    (folder / "image").touch()

    def begin() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_use_own_cluster", begin)
    monkeypatch.setattr(demo, "down", lambda context: pytest.fail("taken down"))
    assert demo.main(["up"]) == 130


def test_a_cluster_with_other_etcd_clusters_keeps_the_definitions(folder: Path, program: Put) -> None:
    real = program(
        "kubectl",
        """case "$*" in
        "get crds"*) echo customresourcedefinition/etcdclusters.etcd.database.coreos.com ;;
        get*) echo etcdcluster/production ;;
        *) echo "$@" >&2; exit 1 ;;
        esac""",
    )
    demo._leave_tools("", real)
    with pytest.raises(HarnessError, match="etcdcluster/production"):
        demo._leave_cluster()
