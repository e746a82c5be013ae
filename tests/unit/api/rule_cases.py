"""For each rule of the API an object that breaks it, and the same object as the denial advises to mend it.

A rule is a place of ``app/api`` that reports something. Which one an object hits is not written here but
found by judging it, so a rule that no object hits is found too.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard
from unittest import mock

import app.api
from app.api import unbuilt
from app.api.defaults import default
from app.api.kinds import SCALE, Rules, beside, rules_for
from app.api.verdict import Report
from tests.unit.api import (
    test_changes,
    test_pod_rules,
    test_rules,
    test_service_rules,
    test_validation,
    test_workload_rules,
)
from tests.unit.api.objects import changed, claimed, cluster, with_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.api.base import JsonObject
    from app.api.verdict import Fault, Verdict

_API = Path(app.api.__file__).parent
_REPORTS = {"invalid", "wrong_type", "required", "unsupported", "forbidden", "duplicate", "warn"}
_NOT_RULES = {"conformance.py"}
"""The CRD's schema, as the command line knows it."""

NEIGHBOURS = {"other": "other-client", "door": "open"}
"""Client Services of the EtcdClusters that are there already, by their names."""


@dataclass(frozen=True)
class Rule:
    """Where something is reported: the module, the function, and which of the function's places it is."""

    module: str
    function: str
    number: int

    def __str__(self) -> str:
        return f"{self.module}.{self.function}-{self.number}"


@dataclass(frozen=True)
class Case:
    """An object, and the stored one if it is about a change."""

    new: JsonObject
    old: JsonObject | None = None

    @property
    def rules(self) -> Rules:
        """What it is judged by."""
        kind = self.new["kind"]
        found = SCALE if kind == "Scale" else rules_for(kind)
        assert found is not None
        return beside(found, NEIGHBOURS) if kind == "EtcdCluster" else found

    def judge(self) -> Verdict:
        """The verdict on it with its defaults."""
        return self.rules.validate(self.rules.default(self.new, self.old), self.old)

    def speaks(self) -> str:
        """The rules that report something about it."""
        found: set[Rule] = set()
        with noting(found):
            self.judge()
        return "+".join(sorted(map(str, found)))

    def named(self) -> str:
        """The rules that speak, and the first field they are about."""
        faults = self.judge().faults
        return f"{self.speaks()}-{faults[0].path[:80] if faults else 'warns'}"

    def mended(self) -> JsonObject:
        """The object as the denial advises, field by field: the nearest valid value, or without it."""
        obj = copy.deepcopy(self.new)
        for attempt in range(40):
            verdict = self.rules.validate(default(obj), None)
            if verdict.allowed:
                return obj
            _mend(obj, verdict.faults[0], above=attempt // 10)
        raise AssertionError(f"can't be mended: {obj}")


def rules() -> frozenset[Rule]:
    """Every rule there is, as the code has them."""
    return frozenset(_places().values())


@contextmanager
def noting(found: set[Rule]) -> Iterator[None]:
    """Note which rules report something meanwhile."""
    places = _places()

    def note(depth: int) -> None:
        frame = sys._getframe(depth)
        while frame.f_code.co_filename == _REPORT:
            assert frame.f_back is not None
            frame = frame.f_back
        found.update(
            rule
            for (file, first, last), rule in places.items()
            if file == frame.f_code.co_filename and first <= frame.f_lineno <= last
        )

    add, warn = Report._add, Report.warn

    def noting_add(report: Report, *rest: Any) -> None:
        note(2)
        add(report, *rest)

    def noting_warn(report: Report, text: str) -> None:
        note(2)
        warn(report, text)

    with mock.patch.object(Report, "_add", noting_add), mock.patch.object(Report, "warn", noting_warn):
        yield


_REPORT = str(_API / "verdict.py")


@cache
def _places() -> dict[tuple[str, int, int], Rule]:
    """The rules by file, first and last line of the call that reports."""
    found = {}
    for file in sorted(_API.rglob("*.py")):
        if file.name in _NOT_RULES:
            continue
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, ast.FunctionDef):
                calls = sorted(filter(_reports, ast.walk(function)), key=lambda call: call.lineno)
                for number, call in enumerate(calls, 1):
                    assert call.end_lineno is not None
                    place = (str(file), call.lineno, call.end_lineno)
                    found[place] = Rule(file.stem, function.name, number)
    return found


def _reports(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _REPORTS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "report"
    )


def _mend(obj: JsonObject, fault: Fault, *, above: int) -> None:
    steps = _steps(fault.path)
    if fault.path == "metadata.name" and fault.nearest is None:
        obj["metadata"]["name"] = "mended"
        return
    if fault.nearest is None:
        steps = steps[: max(2, len(steps) - above)]
    node: Any = obj
    for step in steps[:-1]:
        node = node.setdefault(step, {}) if isinstance(node, dict) else node[step]
    last: Any = steps[-1]
    if fault.nearest is not None:
        node[last] = fault.nearest
    elif isinstance(node, list) or last in node:
        del node[last]


def _steps(path: str) -> list[str | int]:
    found: list[str | int] = []
    for name, key in re.findall(r"([^.\[\]]+)|\[([^\]]*)\]", path):
        found.append(int(key) if key.isdecimal() else key or name)
    return found


def _backup(path: str, value: Any) -> Case:
    return Case(changed(test_validation.BACKUP, path, value), test_validation.BACKUP)


def _restore(path: str, value: Any) -> Case:
    return Case(changed(test_validation.RESTORE, path, value), test_validation.RESTORE)


def _named(name: Any) -> Case:
    return Case(cluster(name=name, size=3))


def _scale(new: Any, old: Any) -> Case:
    one, other = (
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": size}} for size in (new, old)
    )
    return Case(one, other)


_SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
_PLACEHOLDERS = {"object": {}, "array": [], "string": "x", "boolean": False, "integer": 0}

_RECOVERIES: list[Any] = [
    "soon",
    {"memberReplaceAfterSeconds": "5m"},
    {"memberReplaceAfterSeconds": 5},
    {"quorumLoss": "Hope"},
]

CREATIONS = [
    *(
        Case(one[0])
        for module in (test_rules, test_pod_rules, test_workload_rules, test_service_rules)
        for one in module.DENIED
    ),
    *(_named(name) for name in ("a" * 53, "a.b")),
    _named("other-client"),
    Case(cluster(service={"name": "open"})),
    *(
        Case(cluster(version=version, pod={"etcdEnv": [{"name": name, "value": "x"}]}))
        for version, name in (
            ("3.7.3", "ETCD_EXPERIMENTAL_MEMORY_MLOCK"),
            ("3.6.16", "ETCD_PROXY"),
            ("3.5.35", "ETCD_FEATURE_GATES"),
        )
    ),
    Case(with_pod(topologySpreadConstraints=[_SPREAD, _SPREAD])),
    *(
        Case(
            changed(
                cluster(size=3),
                field.path,
                _PLACEHOLDERS["object" if field.placeholder is None else field.placeholder["type"]],
            )
        )
        for field in unbuilt.FIELDS
    ),
    *(Case(changed(cluster(size=3), path, value)) for path, value, _ in unbuilt.VALUES),
    Case(test_pod_rules.env("A", None, valueFrom="here")),
    Case(
        with_pod(
            affinity={
                "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"preference": {}}]}
            }
        )
    ),
    *(Case(cluster(size=3, recovery=recovery)) for recovery in _RECOVERIES),
]
"""Objects that break a rule by themselves."""

CHANGES = [
    *(Case(new, old) for old, new, *_ in test_changes.DENIED),
    *(Case(new, old) for old, new, *_ in test_validation.CHANGES),
    *(
        Case(cluster(version=new), cluster(version=old))
        for old, new in (
            ("3.4.23", "3.6.16"),
            ("3.5.25", "3.6.16"),
            ("3.6.16", "3.5.35"),
        )
    ),
]
"""Objects that another must not become: rules that a new object can't break."""

SCALES = [_scale(8, 3), _scale(0, 3)]
"""What ``kubectl scale`` writes; there is no new one."""

WARNED = [
    Case(cluster(size=4)),
    Case(cluster(version="3.3.27")),
    Case(cluster(version="3.6.13")),
    Case(cluster(version="3.5.15")),
    Case(cluster(version="3.5.15")),
    Case(cluster(image="etcd:v3.6.14")),
    Case(cluster(dataRetention="Retain")),
    Case(with_pod(busyboxImage="busybox")),
    Case(with_pod(antiAffinity=True)),
    Case(test_pod_rules.env("ETCD_QUOTA_BACKEND_BYTES", "-1")),
    Case(test_pod_rules.env("ETCD_QUOTA_BACKEND_BYTES", str(9 * 1024**3))),
    Case(claimed(resources={"requests": {"storage": "3Gi"}})),
    Case(with_pod(tmpfs=True)),
    Case(with_pod(securityContext={"runAsNonRoot": False})),
    Case(cluster(service={"selector": {"team": "x"}})),
    Case(cluster(recovery={"quorumLoss": "ForceNewCluster"})),
]
"""Objects that pass with a warning."""

NEW_KINDS = [Case(test_validation.BACKUP), Case(test_validation.RESTORE)]
"""New objects of kinds that nothing reconciles yet."""

OTHERWISE = {
    "metadata.check_name-1": "the API server itself wants a name",
    "metadata.check_name-2": "the API server itself wants a text",
    "metadata.check_object_name-1": "the API server itself wants a name",
    "metadata.check_object_name-2": "the API server itself wants a text",
    "metadata.check_object_name-3": "the API server itself has the same rule for a name",
    "validation._passes-1": "the API server itself wants an object",
}
"""Rules that no request can reach, and who speaks first; the command line needs them."""

KINDS = [
    *(
        _backup(path, value)
        for path, value in (
            ("spec.storageType", "FTP"),
            ("spec.storageType", ""),
            ("spec.s3", None),
            ("spec.s3.path", "bucket"),
            ("spec.s3.awsSecret", ""),
            ("spec.s3.awsSecret", "A"),
            ("spec.abs", {}),
            ("spec.etcdEndpoints", []),
            ("spec.etcdEndpoints", ["example:2379"]),
            ("spec.backupPolicy", {"maxBackups": -1}),
        )
    ),
    *(
        _restore(path, value)
        for path, value in (
            ("spec.etcdCluster.name", "other"),
            ("spec.etcdCluster", None),
            ("spec.gcs", {}),
            ("spec.backupStorageType", "gcs"),
        )
    ),
]
"""Changes of the kinds that nothing reconciles yet: a new object of them is denied as such."""
