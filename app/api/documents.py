"""Reads YAML the way Kubernetes does, and remembers the line of each field.

PyYAML's own constructors make of YAML what JSON has no word for (dates, sets, bytes, endless loops). Here
the document's nodes are turned into JSON directly: a date stays the text it was written as, keys become
text, a key given twice is an error as it is for kubectl, and aliases are expanded up to a limit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import yaml

from app.api.errors import DocumentError

_MOST_VALUES = 200_000
_TAG = "tag:yaml.org,2002:"
_TRUE = frozenset({"yes", "true", "on"})

Steps = tuple[str, ...]


@dataclass(slots=True)
class Document:
    """One document as JSON, with the line (from 1) of each value by its steps from the root."""

    value: Any
    lines: dict[Steps, int] = field(default_factory=dict)

    def line_of(self, path: str) -> int:
        """Return the line of a field path, or of the nearest parent that is there."""
        steps = split_path(path)
        while steps and steps not in self.lines:
            steps = steps[:-1]
        return self.lines.get(steps, 1)


def split_path(path: str) -> Steps:
    """Return the steps of a field path: ``a.b[c.d][0]`` is a, b, c.d, 0."""
    steps = []
    rest = path
    while rest:
        if rest.startswith("["):
            step, _, rest = rest[1:].partition("]")
        else:
            end = min(
                (position for position in (rest.find("."), rest.find("[")) if position >= 0),
                default=len(rest),
            )
            step, rest = rest[:end], rest[end:]
        steps.append(step)
        rest = rest.removeprefix(".")
    return tuple(steps)


def read_documents(text: bytes) -> Iterator[Document]:
    """Yield the documents of a file, empty ones left out.

    Raises ``DocumentError`` at the first that is not YAML, or holds what JSON cannot.
    """
    try:
        for root in yaml.compose_all(text, Loader=yaml.SafeLoader):
            document = Document(None)
            document.value = _Converter(document.lines).convert(root, ())
            if document.value is not None:
                yield document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = " ".join((error.problem or error.context or "not YAML").split())
        raise DocumentError(mark.line + 1 if mark else None, why) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise DocumentError(None, " ".join(str(error).split())) from None
    except RecursionError:
        raise DocumentError(None, "nested too deep") from None


class _Converter:
    """Turns the nodes of one document into JSON."""

    def __init__(self, lines: dict[Steps, int]) -> None:
        self._lines = lines
        self._values = 0
        self._open: set[int] = set()

    def convert(self, node: yaml.Node, steps: Steps) -> Any:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise DocumentError(_line(node), "too large with its aliases expanded")
        self._lines.setdefault(steps, _line(node))
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) in self._open:
            raise DocumentError(_line(node), "an alias refers to what it is part of")
        self._open.add(id(node))
        if isinstance(node, yaml.MappingNode):
            value: Any = self._mapping(node, steps)
        else:
            value = [self.convert(item, (*steps, str(n))) for n, item in enumerate(node.value)]
        self._open.discard(id(node))
        return value

    def _mapping(self, node: yaml.MappingNode, steps: Steps) -> dict[str, Any]:
        if node.tag != f"{_TAG}map":
            raise DocumentError(_line(node), f"{node.tag.removeprefix(_TAG)} has no form in JSON")
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                merged = {**self._merge(value_node, steps), **merged}
                continue
            key = _key(key_node)
            if key in own:
                raise DocumentError(_line(key_node), f'key "{key}" is given twice')
            self._lines[(*steps, key)] = _line(key_node)
            own[key] = self.convert(value_node, (*steps, key))
        return {**merged, **own}

    def _merge(self, node: yaml.Node, steps: Steps) -> dict[str, Any]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for source in sources:
            value = self.convert(source, steps)
            if not isinstance(value, dict):
                raise DocumentError(_line(source), "only a mapping can be merged")
            merged = {**value, **merged}
        return merged


def _line(node: yaml.Node) -> int:
    line: int = node.start_mark.line
    return line + 1


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise DocumentError(_line(node), "a key must be a text")
    value = _scalar(node)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    kind = node.tag.removeprefix(_TAG)
    if kind in {"str", "timestamp", "value", "merge"}:
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in _TRUE
    try:
        if kind == "int":
            return _integer(text)
        if kind == "float":
            return _number(text)
    except ValueError:
        raise DocumentError(_line(node), f'"{text[:50]}" is not a number') from None
    raise DocumentError(_line(node), f"{kind} has no form in JSON")


def _integer(text: str) -> int | str:
    digits = text.replace("_", "")
    if ":" in digits:
        return text  # YAML 1.1 reads 1:30 as ninety, Kubernetes as a text
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def _number(text: str) -> float | str:
    if ":" in text:
        return text
    number = float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan").lower())
    if not isfinite(number):
        raise ValueError(text)
    return number
