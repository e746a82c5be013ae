"""The command line's verdict on files."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.validate_command import main
from tests.unit.api.objects import EXAMPLE, FULL, OLD, changed, cluster
from tests.unit.api.strategies import anything

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return tmp_path / "cluster.yaml"


def write(path: Path, *objects: Any) -> str:
    path.write_text(yaml.safe_dump_all(objects, sort_keys=False), encoding="utf-8")
    return str(path)


def test_the_old_example_is_valid(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-f", write(manifest, EXAMPLE)]) == 0
    printed = capsys.readouterr().out
    assert "EtcdCluster example-etcd-cluster: valid" in printed
    assert "untested" in printed


def test_a_fault_names_file_line_and_field(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest.write_text(
        "apiVersion: etcd.database.coreos.com/v1beta2\n"
        "kind: EtcdCluster\n"
        "metadata: {name: a}\n"
        "spec:\n"
        "  size: 8\n"
        "  pod:\n"
        "    label: {}\n",
        encoding="utf-8",
    )
    assert main(["-f", str(manifest)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"{manifest}:5: EtcdCluster a: spec.size: Invalid value: 8: must be from 1 to 7; " in lines[1]
    assert f"{manifest}:7: EtcdCluster a: spec.pod.label: Forbidden: unknown field" in lines[0]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"tls": {}}, "TLS is meant"),
        ({"size": "3"}, "must be an integer"),
        ({"version": 3.6}, "must be a text (in quotes"),
        ({"pod": {"etcdEnv": [{"value": "x"}]}}, "spec.pod.etcdEnv[0].name: Required value"),
        ({"pod": {"resources": {"limits": {"cpu": 1.5}}}}, "must be an integer or a text"),
        (
            {"pod": {"affinity": {"nodeAffinity": {"required": {}}}}},
            "nodeAffinity.required: Forbidden: unknown field",
        ),
        ({"auth": {}}, "spec.auth: Forbidden: is not available in this version"),
    ],
)
def test_the_schema_is_checked_as_the_api_server_would(
    spec: dict[str, Any], words: str, manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-f", write(manifest, cluster(**spec))]) == 1
    assert words in capsys.readouterr().out


def test_an_update_is_checked_against_what_is_stored(manifest: Path, tmp_path: Path) -> None:
    stored = write(tmp_path / "old.yaml", OLD)
    paused = write(manifest, changed(OLD, "spec.paused", True))
    assert main(["-f", paused, "--old", stored]) == 0
    assert main(["-f", paused]) == 1
    assert main(["-f", write(manifest, changed(OLD, "spec.size", 9)), "--old", stored]) == 1


def test_json(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-o", "json", "-f", write(manifest, FULL, cluster(name="b", size=9))]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert [result["allowed"] for result in printed["objects"]] == [True, False]
    assert printed["objects"][1]["causes"][0]["field"] == "spec.size"
    assert printed["errors"] == []


def test_lists_directories_and_objects_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        tmp_path / "a.yml", {"apiVersion": "v1", "kind": "Secret"}, {"kind": "List", "items": [EXAMPLE, "x"]}
    )
    (tmp_path / "b.json").write_text(json.dumps(FULL), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("a: [", encoding="utf-8")
    assert main(["-f", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("valid\n") == 2


def test_two_clusters_of_one_file_that_claim_one_service(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-f", write(manifest, cluster(name="a", size=3), cluster(name="a-client", size=3))]) == 1
    assert "Service a-client" in capsys.readouterr().out


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(EXAMPLE).encode())))
    assert main(["-f", "-"]) == 0


@pytest.mark.parametrize(
    "content", [b"a: [", b"", b"kind: Pod\n", b"\xff\xfe\x00", b"- 1\n- 2\n", b"kind: List\nitems: {}\n"]
)
def test_what_cannot_be_read_or_holds_nothing_of_ours(content: bytes, manifest: Path) -> None:
    manifest.write_bytes(content)
    assert main(["-f", str(manifest)]) == 2


def test_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-f", str(tmp_path / "none.yaml"), "a\0b"]) == 2
    assert "No such file" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["-f"], ["--unknown"], ["-o", "xml", "-f", "x"]])
def test_wrong_usage(arguments: list[str]) -> None:
    assert main(arguments) == 2


def test_help() -> None:
    assert main(["--help"]) == 0


@pytest.mark.parametrize(
    "obj",
    [
        changed(EXAMPLE, "kind", "EtcdThing"),
        changed(EXAMPLE, "kind", 3),
        changed(EXAMPLE, "apiVersion", "etcd.database.coreos.com/v1"),
    ],
)
def test_kinds_and_versions_that_do_not_exist(obj: dict[str, Any], manifest: Path) -> None:
    assert main(["-f", write(manifest, obj)]) == 1


def test_a_name_cannot_write_to_the_terminal(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-f", write(manifest, cluster(name="\x1b[2Jx\n\ud800", size=3))]) == 1
    assert "\x1b" not in capsys.readouterr().out


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(obj=anything, old=anything, output=st.sampled_from(["text", "json"]))
def test_any_object_gets_a_verdict(obj: Any, old: Any, output: str, tmp_path: Path) -> None:
    for name, content in (("new", obj), ("old", old)):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    status = main(["-o", output, "-f", str(tmp_path / "new"), "--old", str(tmp_path / "old")])
    assert status in {0, 1, 2}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text().map(str.encode))
def test_any_file_gets_a_verdict(content: bytes, manifest: Path) -> None:
    manifest.write_bytes(content)
    assert main(["-f", str(manifest)]) in {0, 1, 2}
