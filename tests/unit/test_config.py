"""The command line's flags."""

import tomllib
from pathlib import Path

import pytest

from app.cli import main
from app.config import ConfigError, Scope, WebhookMode, load, parse_duration

POD = {"MY_POD_NAMESPACE": "ns", "MY_POD_NAME": "pod"}


def test_the_defaults_are_those_of_a_namespaced_operator() -> None:
    config = load([], POD)

    assert config.scope is Scope.NAMESPACED
    assert config.watched_namespace == "ns"
    assert config.create_crd
    assert (config.listen_host, config.listen_port) == ("0.0.0.0", 8080)
    assert config.webhook.mode is WebhookMode.MANAGED
    assert config.webhook.configuration == "etcd-operator-ns"
    assert config.warnings == ()


@pytest.mark.parametrize(
    "spelling", ["-cluster-wide", "--cluster-wide", "-cluster-wide=true", "--cluster-wide=1"]
)
def test_the_old_spellings_of_a_flag_are_read(spelling: str) -> None:
    config = load([spelling], POD)

    assert config.scope is Scope.CLUSTER_WIDE
    assert config.watched_namespace is None


def test_the_old_flags_with_values_are_read() -> None:
    config = load(["-create-crd=false", "-listen-addr", "127.0.0.1:9", "-cluster-wide=false"], POD)

    assert not config.create_crd
    assert (config.listen_host, config.listen_port) == ("127.0.0.1", 9)
    assert config.scope is Scope.NAMESPACED


def test_obsolete_flags_start_with_a_warning() -> None:
    config = load(["-chaos-level=2", "--gc-interval", "10m"], POD)

    assert [text.split(" ")[0] for text in config.warnings] == ["--chaos-level", "--gc-interval"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--workers=0"], "--workers"),
        (["--webhook=external"], "--webhook-cert-dir"),
        (["--lease-duration=1s"], "--renew-deadline"),
        (["--listen-addr=8080"], "listen-addr"),
        (["--drain-seconds=5"], "drain-seconds"),
        (["--nothing"], "nothing"),
        (["--default-run-as-user=root"], "default-run-as-user"),
    ],
)
def test_a_bad_flag_is_named(arguments: list[str], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        load(arguments, POD)


def test_the_namespace_must_be_known() -> None:
    with pytest.raises(ConfigError, match="MY_POD_NAMESPACE"):
        load([], {})


def test_the_platform_can_choose_the_user() -> None:
    assert load(["--default-run-as-user="], POD).default_run_as_user is None


@pytest.mark.parametrize(
    ("text", "seconds"), [("15s", 15), ("1h30m", 5400), ("500ms", 0.5), ("8760h", 31536000)]
)
def test_durations_are_read_as_go_writes_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    packaged = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

    assert main(["-version"]) == 0
    assert capsys.readouterr().out == f"etcd-operator Version: {packaged}\n"


def test_a_bad_flag_ends_the_command_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--workers=many"]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("etcd-operator: argument --workers")
    assert "Traceback" not in printed.err
