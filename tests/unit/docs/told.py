"""What the code tells users: flags, metrics, reasons, alerts; read from the code itself."""

import ast
from collections.abc import Iterator

import yaml

from app.config import parser
from app.ops.metrics import Metrics
from tests.unit.docs.pages import PROJECT

_REASON_AT = {"Trouble": 0, "Event": 0, "Verdict": 2}
"""Which argument of these is a reason."""


def flags() -> set[str]:
    """The operator's flags, with their two dashes."""
    actions = parser()._actions  # argparse has no public way to list them
    ours = {one for action in actions for one in action.option_strings if one.startswith("--")}
    return ours - {"--help"}


def metrics() -> set[str]:
    """The metrics' names, as Prometheus has them."""
    found = set()
    for metric in Metrics().registry.collect():
        found.add(metric.name + ("_total" if metric.type == "counter" else ""))
    return found


def alerts() -> dict[str, str]:
    """The alerts and their severity."""
    rules = yaml.safe_load((PROJECT / "manifests/prometheus/rules.yaml").read_text())
    listed = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]
    return {rule["alert"]: rule["labels"]["severity"] for rule in listed}


def reasons() -> dict[str, set[str]]:
    """The reasons of troubles, conditions and Events that the code names, by what they are given to."""
    found: dict[str, set[str]] = {name: set() for name in _REASON_AT}
    for path in (PROJECT / "app/plan").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _REASON_AT:
                position = _REASON_AT[node.func.id]
                if len(node.args) > position:
                    found[node.func.id] |= set(_constants(node.args[position]))
    return found


def words() -> set[str]:
    """Every single word that is a text of the decisions or of what is read from Kubernetes."""
    files = [*(PROJECT / "app/plan").rglob("*.py"), *(PROJECT / "app/observe").rglob("*.py")]
    nodes = (node for path in files for node in ast.walk(ast.parse(path.read_text())))
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isalpha()
    }


def _constants(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from _constants(body)
            yield from _constants(orelse)
        case _:
            return
