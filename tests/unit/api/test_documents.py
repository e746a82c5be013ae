"""YAML as people write it, read as Kubernetes reads it."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.documents import read_documents, split_path
from app.api.errors import DocumentError


def read(text: str) -> list[Any]:
    return [document.value for document in read_documents(text.encode())]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 2020-01-01", {"a": "2020-01-01"}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: yes\nb: Off", {"a": True, "b": False}),
        ("a: ~\nb:", {"a": None, "b": None}),
        ("a: 0x10\nb: 010\nc: -1_000\nd: 0o7", {"a": 16, "b": 8, "c": -1000, "d": "0o7"}),
        ("a: 1e3\nb: 1.5", {"a": "1e3", "b": 1.5}),
        ("1: a\ntrue: b\n~: c", {"1": "a", "true": "b", "null": "c"}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}", {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}}),
        ("a: {<<: [{b: 1}, {b: 2, c: 3}]}", {"a": {"b": 1, "c": 3}}),
        ('{"a": [1, null, "x"]}', {"a": [1, None, "x"]}),
        ("a: =", {"a": "="}),
        ("a: !!str 3", {"a": "3"}),
    ],
)
def test_read(text: str, value: Any) -> None:
    assert read(text) == [value]


def test_many_documents_and_empty_ones() -> None:
    assert read("---\n---\na: 1\n---\n# nothing\n---\nb: 2\n...\n") == [{"a": 1}, {"b": 2}]
    assert read("") == []


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("a: [1", 1, "expected"),
        ("a: 1\na: 2", 2, "given twice"),
        ("a:\n  - b\n - c", 3, "expected"),
        ("\ta: 1", 1, "cannot start"),
        ("a: !!binary aGk=", 1, "binary has no form in JSON"),
        ("a: !!set {b}", 1, "set has no form"),
        ("a: !mine b", 1, "has no form"),
        ("a: .nan", 1, "not a number"),
        ("a: -.Inf", 1, "not a number"),
        ("a: !!int x", 1, "not a number"),
        ("? [a]\n: b", 1, "a key must be a text"),
        ("a: &x\n  b: *x", 1, "part of"),
        ("a: {<<: 3}", 1, "only a mapping"),
        ("a: *unknown", 1, "undefined alias"),
    ],
)
def test_refused_with_the_line(text: str, line: int, why: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(text)
    assert caught.value.line == line or why == "expected"
    assert why in str(caught.value)


def test_aliases_are_expanded_up_to_a_limit() -> None:
    laughs = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))
    with pytest.raises(DocumentError, match="too large"):
        read(f"a0: &a0 x\n{laughs}")


def test_nesting_has_a_limit() -> None:
    with pytest.raises(DocumentError, match="too deep"):
        read("[" * 20_000)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(DocumentError):
        list(read_documents(b"a: \xff\xfe"))


def test_lines_of_fields() -> None:
    (document,) = read_documents(
        b"spec:\n  pod:\n    labels:\n      a.b/c: x\n    etcdEnv:\n    - name: A\n      value: b\n"
    )
    assert document.line_of("spec.pod.labels[a.b/c]") == 4
    assert document.line_of("spec.pod.etcdEnv[0].value") == 7
    assert document.line_of("spec.pod.affinity.nodeAffinity") == 2
    assert document.line_of("metadata.name") == 1


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("", ()),
        ("spec", ("spec",)),
        ("spec.pod.labels[a.b/c]", ("spec", "pod", "labels", "a.b/c")),
        ("items[3].spec.x[0].y", ("items", "3", "spec", "x", "0", "y")),
        ("a[b", ("a", "b")),
    ],
)
def test_steps_of_a_path(path: str, steps: tuple[str, ...]) -> None:
    assert split_path(path) == steps


@given(st.text(st.characters(codec="utf-8")) | st.text(alphabet="ab:-[]{}&*!|>%@\"'#? \n\t<0.~", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(DocumentError):
        read(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    with contextlib.suppress(DocumentError):
        list(read_documents(text))
