import pytest

from tests.cluster import __main__ as command_line
from tests.cluster import preflight, state


@pytest.mark.parametrize(
    ("arguments", "ours", "theirs"),
    [
        ("up --name a", "up --name a", ""),
        ("kubectl -n x get pods --all", "kubectl", "-n x get pods --all"),
        ("kubectl --name a exec p -- sh -c ls", "kubectl --name a", "exec p -- sh -c ls"),
        ("kubectl --name=a get pods --name b", "kubectl --name=a", "get pods --name b"),
        ("kubectl --help", "kubectl --help", ""),
    ],
)
def test_what_is_kubectls(arguments: str, ours: str, theirs: str) -> None:
    assert command_line._split(arguments.split()) == (ours.split(), theirs.split())


def test_an_error_is_one_message_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(state.LOCATION, "/nowhere")
    assert command_line.main(["load-image", "--name", "absent", "x.tar"]) == 1
    assert (
        capsys.readouterr().err == "There is no cluster absent: `python -m tests.cluster up --name absent`\n"
    )


@pytest.mark.parametrize(("platform", "user"), [("linux", 1000), ("darwin", 0)])
def test_where_a_cluster_is_impossible_one_line_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], platform: str, user: int
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("os.geteuid", lambda: user)
    preflight.check.cache_clear()
    assert command_line.main(["up", "--name", "impossible"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "sudo" in line
    assert "make demo CONTEXT=" in line
