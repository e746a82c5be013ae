"""The pages name what exists, and all of it: flags, metrics, conditions, reasons, alerts, denied fields."""

import re
from pathlib import Path

import pytest

from app.api import unbuilt, versions
from app.api.status import ConditionType
from tests.unit.docs import told
from tests.unit.docs.pages import PROJECT, first_cells, pages, section, spans, text

OPERATIONS = PROJECT / "docs/operations.md"
CLUSTERS = PROJECT / "docs/clusters.md"
RUNBOOKS = PROJECT / "docs/runbooks"

FLAG = re.compile(r"--[a-z][a-z-]*")
METRIC = re.compile(
    r"\b(?:workqueue|controller_runtime|leader_election|rest_client|watch|cache|task|events|certificate"
    r"|etcd_operator)_[a-z_]+\b"
)

OTHERS = {
    # create_role.sh's and validate's
    "--role-name", "--role-binding-name", "--namespace", "--old",
    # etcd's
    "--initial-cluster", "--initial-cluster-state", "--client-cert-auth", "--force-new-cluster",
    # Docker's and pip's
    "--build-arg", "--require-hashes",
}  # fmt: skip
"""Flags of other programs than the operator that stand alone in a sentence."""


def test_every_flag_is_described() -> None:
    described = {word for word in first_cells(section(OPERATIONS, "Flags")) if word.startswith("--")}
    assert described == told.flags()


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(PROJECT)))
def test_flags_exist(page: Path) -> None:
    """A flag that stands alone is the operator's; behind a program's name it is that program's."""
    named = {found[0] for span in spans(text(page)) if (found := FLAG.match(span))}
    assert named - told.flags() - OTHERS == set()


def test_every_metric_is_described() -> None:
    assert first_cells(section(OPERATIONS, "Metrics")) == told.metrics()


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(PROJECT)))
def test_metrics_exist(page: Path) -> None:
    known = told.metrics()
    named = {name for span in spans(text(page)) for name in METRIC.findall(span)}
    # A name may be cut short with an ellipsis.
    cut = {name for name in named if any(one.startswith(name) for one in known)}
    assert named - cut == set()


def test_every_condition_is_described() -> None:
    assert first_cells(section(CLUSTERS, "Conditions")) == {str(kind) for kind in ConditionType}


def test_every_reason_is_described() -> None:
    described = first_cells(section(CLUSTERS, "Reasons, and what clears them"))
    named = told.reasons()
    assert named["Trouble"], "no reason is found in the code any more: mend this test"
    assert named["Trouble"] | named["Verdict"] <= described
    assert first_cells(section(CLUSTERS, "Events")) == named["Event"]


def test_reasons_exist() -> None:
    described = first_cells(section(CLUSTERS, "Reasons, and what clears them"))
    assert described - told.words() == set()
    assert {word for word in spans(section(CLUSTERS, "Status")) if word.istitle()} <= told.words() | {
        "Creating", "Running", "Failed",
    }  # fmt: skip


def test_every_alert_has_a_runbook() -> None:
    assert {path.stem for path in RUNBOOKS.glob("*.md")} == {"README", *told.alerts()}
    overview = text(RUNBOOKS / "README.md")
    for alert, severity in told.alerts().items():
        assert f"| [{alert}]({alert}.md) | {severity} |" in overview
        assert (RUNBOOKS / f"{alert}.md").read_text().startswith(f"# {alert}\n")


def test_what_is_denied_is_said() -> None:
    denied = spans(section(PROJECT / "README.md", "What works, and what does not yet"))
    assert {field.name for field in unbuilt.FIELDS if field.path.count(".") == 1} <= denied
    assert {field.name for field in unbuilt.FIELDS if field.path.startswith("spec.pod.")} <= denied
    assert {path.removeprefix("spec.") for path in unbuilt.CHANGES} <= denied
    assert denied >= unbuilt.KINDS


def test_versions_are_those_that_are_tested() -> None:
    readme = text(PROJECT / "README.md")
    assert all(version in readme for version in versions.TESTED.values())
    assert f"`version: {versions.DEFAULT}`" in text(CLUSTERS)


def test_every_decision_is_listed() -> None:
    folder = PROJECT / "docs/adr"
    overview = text(folder / "README.md")
    records = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    for number, path in enumerate(records, start=1):
        title = re.fullmatch(r"# (\d{4}): (.*)", path.read_text().partition("\n")[0])
        assert title, f"{path.name} begins with '# NNNN: title'"
        assert path.name.startswith(f"{number:04}-")
        assert f"| [{title[1]}]({path.name}) | {title[2]} |" in overview
        assert re.search(r"^Date: \d{4}-\d{2}-\d{2}\. Status: ", path.read_text(), re.MULTILINE)


def test_every_dependency_has_a_reason() -> None:
    listed = section(PROJECT / "docs/adr/0011-dependencies.md", "Decision")
    project = (PROJECT / "pyproject.toml").read_text()
    block = project.partition("dependencies = [")[2].partition("[project.scripts]")[0]
    names = re.findall(r'^    "([a-z-]+)', block, re.MULTILINE)
    assert "aiohttp" in names
    assert [name for name in names if name not in listed] == []
