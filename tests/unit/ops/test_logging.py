"""The form of the log's lines."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Literal

import pytest
import structlog

from app.ops.logging import bound, get_logger, setup

log = get_logger("app.some")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(style: Literal["text", "json"], level: str = "info") -> io.StringIO:
    out = io.StringIO()
    setup(style=style, level=level, out=out)
    return out


def test_text_is_a_sentence_and_then_pairs() -> None:
    out = lines("text")
    with bound(key="ns/name", reconcile=7):
        log.info("Became the leader", lease="operator", note="two words")
    time, rest = out.getvalue().split(" ", 1)
    assert time.endswith("Z")
    assert rest == (
        'INFO    Became the leader  module=app.some lease=operator note="two words" key=ns/name reconcile=7\n'
    )


def test_json_has_the_same() -> None:
    out = lines("json")
    with bound(key="ns/name"):
        log.warning("Could not reach it", error=ValueError("why"))
    told = json.loads(out.getvalue())
    assert told.pop("time").endswith("Z")
    assert told == {
        "level": "warning",
        "msg": "Could not reach it",
        "module": "app.some",
        "error": "why",
        "key": "ns/name",
    }


def test_level_is_obeyed() -> None:
    out = lines("text", "warning")
    log.info("Not told")
    assert out.getvalue() == ""


def test_a_value_cannot_forge_a_line() -> None:
    out = lines("text")
    log.info("Read a name", name="x\n2026-01-01T00:00:00Z ERROR Forged")
    assert out.getvalue().count("\n") == 1


@pytest.mark.parametrize("style", ["text", "json"])
def test_trace_of_an_error(style: Literal["text", "json"]) -> None:
    out = lines(style)
    try:
        int("x")
    except ValueError:
        log.exception("Failed")
    assert "test_trace_of_an_error" in out.getvalue()


def test_lines_of_libraries_have_the_form_too() -> None:
    out = lines("json")
    logging.getLogger("some.library").warning("Something %s", "odd")
    told = json.loads(out.getvalue())
    assert (told["msg"], told["module"], told["level"]) == ("Something odd", "some.library", "warning")
