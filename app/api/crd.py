"""The three CustomResourceDefinitions, made from the models.

The operator installs them (``--create-crd``) and ``manifests/crd/`` holds them as files, written by::

    python -m app.api.crd
"""

import copy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.api import unbuilt
from app.api.backup import EtcdBackup
from app.api.base import GROUP, VERSION, JsonObject, Model
from app.api.cel import rules_of
from app.api.cluster import EtcdCluster
from app.api.restore import EtcdRestore
from app.api.schema import at, structural

SCHEMA_VERSION = 5
"""Grows with every change of a CRD: the operator replaces an older one and leaves a newer one alone."""

VERSION_ANNOTATION = f"{GROUP}/schema-version"


@dataclass(frozen=True, slots=True)
class _Kind:
    model: type[Model]
    plural: str
    short_names: tuple[str, ...] = ()
    columns: tuple[tuple[str, str, str, str, int], ...] = ()
    """Name, type, JSON path, description, priority (0 always, 1 only with ``-o wide``)."""

    @property
    def name(self) -> str:
        return self.model.__name__


_AVAILABLE = '.status.conditions[?(@.type=="Available")]'
_AGE = ("Age", "date", ".metadata.creationTimestamp", "Time since creation", 0)
_KINDS = (
    _Kind(
        EtcdCluster,
        "etcdclusters",
        ("etcd",),
        (
            ("Size", "integer", ".spec.size", "Members asked for", 0),
            ("Ready", "integer", ".status.readyMembers", "Members that serve clients", 0),
            ("Version", "string", ".status.currentVersion", "The etcd version that all members run", 0),
            ("Phase", "string", ".status.phase", "Creating, Running or Failed", 0),
            ("Available", "string", f"{_AVAILABLE}.status", "Whether a quorum serves", 0),
            _AGE,
            ("Leader", "string", ".status.leader", "The member that leads", 1),
            ("DB size", "integer", ".status.dbSize", "Size of the largest database in bytes", 1),
            ("Reason", "string", f"{_AVAILABLE}.reason", "Why it is available or not", 1),
        ),
    ),
    _Kind(
        EtcdBackup,
        "etcdbackups",
        (),
        (
            ("Succeeded", "boolean", ".status.succeeded", "Whether the last backup succeeded", 0),
            ("Last success", "date", ".status.lastSuccessDate", "When a backup succeeded last", 0),
            ("Reason", "string", ".status.Reason", "Why the last backup failed", 1),
            _AGE,
        ),
    ),
    _Kind(
        EtcdRestore,
        "etcdrestores",
        (),
        (
            ("Succeeded", "boolean", ".status.succeeded", "Whether the restored cluster serves", 0),
            ("Reason", "string", ".status.reason", "Why the restore failed", 1),
            _AGE,
        ),
    ),
)


def crds() -> dict[str, JsonObject]:
    """Return the CustomResourceDefinitions by the plural names of their resources."""
    return {kind.plural: _crd(kind) for kind in _KINDS}


def _crd(kind: _Kind) -> JsonObject:
    subresources: JsonObject = {"status": {}}
    if kind.model is EtcdCluster:
        subresources["scale"] = {
            "specReplicasPath": ".spec.size",
            "statusReplicasPath": ".status.size",
            "labelSelectorPath": ".status.selector",
        }
    names: JsonObject = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{GROUP}",
            "annotations": {
                VERSION_ANNOTATION: str(SCHEMA_VERSION),
                "argocd.argoproj.io/sync-options": "Prune=false",
                "helm.sh/resource-policy": "keep",
            },
        },
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _schema(kind)},
                    "subresources": subresources,
                    "additionalPrinterColumns": list(_columns(kind)),
                }
            ],
        },
    }


def _columns(kind: _Kind) -> Iterator[JsonObject]:
    for name, type_, path, description, priority in kind.columns:
        column = {"name": name, "type": type_, "jsonPath": path, "description": description}
        yield {**column, "priority": priority} if priority else column


def _schema(kind: _Kind) -> JsonObject:
    schema = structural(kind.model)
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        **schema["properties"],
        "metadata": {"type": "object"},
    }
    schema["required"] = ["spec"]
    if kind.model is EtcdCluster:
        _add_placeholders(schema)
    for path, rules in rules_of(kind.name).items():
        at(schema, path)["x-kubernetes-validations"] = copy.deepcopy(rules)
    return schema


def _add_placeholders(schema: JsonObject) -> None:
    """Let the schema know what is not built yet, or it would prune what the webhook is to deny."""
    for field in unbuilt.FIELDS:
        properties, name = at(schema, field.parent)["properties"], field.name
        if field.placeholder is not None:
            properties[name] = copy.deepcopy(field.placeholder)
        described = properties[name].get("description", "")
        properties[name]["description"] = f"Not available in this version. {described}".rstrip()


def manifests() -> dict[str, str]:
    """Return the files of ``manifests/crd/`` by name."""
    files = {f"{plural}.yaml": _yaml(crd) for plural, crd in crds().items()}
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(files),
    }
    return {**files, "kustomization.yaml": _yaml(kustomization)}


def _yaml(document: JsonObject) -> str:
    import yaml  # noqa: PLC0415 - only who writes manifests pays for it, not the operator

    class Dumper(yaml.SafeDumper):
        """YAML without aliases, which no reader of manifests expects."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
            return True

    text: str = yaml.dump(document, Dumper=Dumper, sort_keys=False, width=120, allow_unicode=True)
    return f"# Written by python -m app.api.crd; edit the models in app/api instead.\n{text}"


def main(directory: Path) -> int:
    """Write the manifests."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in manifests().items():
        (directory / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[2] / "manifests" / "crd"))
