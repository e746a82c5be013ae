"""The project's pages, read as a reader does: headings, links, tables, words in code spans."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[3]

_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@cache
def pages() -> tuple[Path, ...]:
    """Every page of ours."""
    own = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("manifests/**/*.md")]
    return tuple(sorted(own))


@cache
def text(path: Path) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", path.read_text())


def links(path: Path) -> Iterator[str]:
    """The targets of a page's links, those that leave the project apart."""
    return (target for target in _LINK.findall(text(path)) if "://" not in target)


def anchors(path: Path) -> set[str]:
    """What a link can point to within a page, by GitHub's rule for headings."""
    found = set()
    for heading in _HEADING.findall(text(path)):
        plain = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def spans(part: str) -> set[str]:
    """What stands between backticks."""
    return set(_SPAN.findall(part))


def section(path: Path, heading: str) -> str:
    """The part of a page under a heading, to the next one of its rank or above.

    Raises ValueError where there is no such heading.
    """
    whole = text(path)
    begin = re.search(rf"^(#+) {re.escape(heading)}$", whole, re.MULTILINE)
    if begin is None:
        raise ValueError(f"{path} has no heading {heading!r}")
    rest = whole[begin.end() :]
    end = re.search(rf"^#{{1,{len(begin[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def first_cells(part: str) -> set[str]:
    """What stands between backticks in the first cells of the tables of a part of a page."""
    rows = (line for line in part.splitlines() if line.startswith("|"))
    return {word for row in rows for word in spans(row.split("|")[1])}
