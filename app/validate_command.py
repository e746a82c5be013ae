"""``etcd-operator validate``: the webhook's verdict without a cluster, for a user's CI.

Reads manifests, takes out what is ours, fills in defaults as the mutating webhook would, checks the schema
as the API server would and then every rule. Exit status: 0 when everything may be stored, 1 when something
is denied, 2 when an input cannot be read or holds nothing of ours.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.api.base import API_VERSION, GROUP, JsonObject
from app.api.conformance import check_schema
from app.api.documents import Document, read_documents
from app.api.errors import DocumentError
from app.api.kinds import Rules, rules_for
from app.api.rules.service import client_service
from app.api.validation import validate
from app.api.verdict import Fault, Report, Verdict

DENIED, UNREADABLE = 1, 2
_SUFFIXES = {".yaml", ".yml", ".json"}


@dataclass(frozen=True, slots=True)
class _Manifest:
    """An object of ours, and where it was found."""

    source: str
    document: Document
    prefix: str
    obj: JsonObject
    rules: Rules

    @property
    def key(self) -> tuple[str, str, str]:
        return self.rules.kind, self.named("namespace"), self.named("name")

    def named(self, key: str) -> str:
        metadata = self.obj.get("metadata")
        value = metadata.get(key) if isinstance(metadata, dict) else None
        return value if isinstance(value, str) else ""

    def line_of(self, path: str) -> int:
        return self.document.line_of(f"{self.prefix}{'.' if self.prefix and path else ''}{path}")


@dataclass(slots=True)
class _Inputs:
    """What was read, and what could not be."""

    manifests: list[_Manifest] = field(default_factory=list)
    problems: list[JsonObject] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Run the subcommand; returns the process's exit status."""
    try:
        options = _parser().parse_args(list(arguments))
    except SystemExit as end:
        return UNREADABLE if end.code else 0
    inputs = _read(options.filename)
    stored = _read(options.old)
    problems = inputs.problems + stored.problems
    if not inputs.manifests and not problems:
        problems.append({"file": ", ".join(options.filename), "error": f"nothing of {GROUP} in it"})
    results = [_judge(manifest, inputs.manifests, stored.manifests) for manifest in inputs.manifests]
    write = _write_json if options.output == "json" else _write_text
    try:
        write(results, problems)
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads any more; the interpreter would complain on exit
    if problems:
        return UNREADABLE
    return 0 if all(result["allowed"] for result in results) else DENIED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="etcd-operator validate",
        description="Check manifests by the operator's rules, without a cluster.",
    )
    parser.add_argument(
        "-f", "--filename", nargs="+", action="extend", required=True, metavar="FILE",
        help="file with manifests (YAML or JSON), a directory of such, or - for standard input",
    )  # fmt: skip
    parser.add_argument(
        "--old", nargs="+", action="extend", default=[], metavar="FILE",
        help="the objects as they are stored: what they and the manifests share is checked as an update",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="how to print the verdict"
    )
    return parser


def _read(sources: Iterable[str]) -> _Inputs:
    inputs = _Inputs()
    for source in sources:
        for name, content in _contents(source, inputs.problems):
            try:
                for document in read_documents(content):
                    inputs.manifests.extend(_ours(name, document, "", document.value))
            except DocumentError as error:
                inputs.problems.append({"file": name, "line": error.line, "error": error.why})
    return inputs


def _contents(source: str, problems: list[JsonObject]) -> Iterator[tuple[str, bytes]]:
    try:
        if source == "-":
            yield "-", sys.stdin.buffer.read()
            return
        path = Path(source)
        files = [path]
        if path.is_dir():
            files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES and file.is_file())
        for file in files:
            yield str(file), file.read_bytes()
    except (OSError, ValueError) as error:
        problems.append({"file": source, "error": getattr(error, "strerror", None) or str(error)})


def _ours(source: str, document: Document, prefix: str, obj: Any) -> Iterator[_Manifest]:
    if not isinstance(obj, dict):
        return
    kind, items = obj.get("kind"), obj.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for position, item in enumerate(items):
            yield from _ours(source, document, f"{prefix}{'.' if prefix else ''}items[{position}]", item)
        return
    version = obj.get("apiVersion")
    if isinstance(version, str) and version.startswith(f"{GROUP}/"):
        rules = rules_for(kind) if isinstance(kind, str) else None
        yield _Manifest(source, document, prefix, obj, rules or _unknown(kind))


def _unknown(kind: Any) -> Rules:
    def refuse(new: Any, old: Any = None) -> Verdict:  # noqa: ARG001 - the signature of every rule
        report = Report()
        report.unsupported("kind", kind, ("EtcdCluster", "EtcdBackup", "EtcdRestore"))
        return report.verdict()

    return Rules(str(kind), "", lambda obj, _: obj, refuse)


def _judge(manifest: _Manifest, all_manifests: list[_Manifest], stored: list[_Manifest]) -> JsonObject:
    rules = manifest.rules
    old = next((known.obj for known in stored if known.key == manifest.key), None)
    filled = rules.default(manifest.obj, old)
    report = Report()
    if manifest.obj.get("apiVersion") != API_VERSION:
        report.unsupported("apiVersion", manifest.obj.get("apiVersion"), (API_VERSION,), nearest=API_VERSION)
    elif rules.plural:
        report = check_schema(filled, rules.plural)
    if rules.validate is validate:
        neighbours = {
            m.named("name"): client_service(m.named("name"), m.obj.get("spec"))
            for m in all_manifests
            if m is not manifest and m.key[:2] == manifest.key[:2]
        }
        verdict = validate(filled, old, neighbours=neighbours)
    else:
        verdict = rules.validate(filled, old)
    seen = {fault.path for fault in report.faults}
    faults = [*report.faults, *(fault for fault in verdict.faults if fault.path not in seen)]
    return {
        "file": manifest.source,
        "line": manifest.line_of(""),
        "kind": rules.kind,
        "namespace": manifest.named("namespace"),
        "name": manifest.named("name"),
        "allowed": not faults,
        "causes": [_cause(fault, manifest) for fault in faults],
        "warnings": list(verdict.warnings),
    }


def _cause(fault: Fault, manifest: _Manifest) -> JsonObject:
    return {"line": manifest.line_of(fault.path), **fault.cause()}


def _write_json(results: list[JsonObject], problems: list[JsonObject]) -> None:
    print(json.dumps({"objects": results, "errors": problems}, indent=2))


def _write_text(results: list[JsonObject], problems: list[JsonObject]) -> None:
    for problem in problems:
        line = f":{problem['line']}" if problem.get("line") else ""
        _say(f"{problem['file']}{line}: error: {problem['error']}")
    for result in results:
        subject = f"{result['kind']} {result['name']}".rstrip()
        for cause in result["causes"]:
            _say(f"{result['file']}:{cause['line']}: {subject}: {cause['field']}: {cause['message']}")
        for warning in result["warnings"]:
            _say(f"{result['file']}:{result['line']}: {subject}: warning: {warning}")
        if result["allowed"]:
            _say(f"{result['file']}:{result['line']}: {subject}: valid")


def _say(text: str) -> None:
    """Print a text, with escapes for what a terminal would obey or could not show."""
    shown = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    encoding = sys.stdout.encoding or "utf-8"
    print(shown.encode(encoding, "backslashreplace").decode(encoding))
