"""The page of rules names tests that exist, and each rule has one."""

import ast
from functools import cache

from tests.unit.docs.pages import PROJECT, spans, text

PAGE = PROJECT / "docs/rules.md"


@cache
def functions_of(path: str) -> frozenset[str]:
    """The functions of a file of tests."""
    tree = ast.parse((PROJECT / path).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def test_every_test_that_guards_a_rule_exists() -> None:
    named = [span.split("::") for span in spans(text(PAGE)) if "::" in span]
    assert len(named) > 50
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []


def test_every_rule_has_a_test() -> None:
    rows = [line.split("|")[1:-1] for line in text(PAGE).splitlines() if line.startswith("| ")]
    rules = [row for row in rows if row[0].strip() not in {"rule", "---"}]
    assert [row[0] for row in rules if "::" not in row[1]] == []
