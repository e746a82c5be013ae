"""The CRDs: fresh, structural, small enough to be applied, and complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from app.api import embedded, unbuilt
from app.api.crd import crds, manifests
from app.api.schema import at
from tests.unit.api.objects import EXAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator

MANIFESTS = Path(__file__).resolve().parents[3] / "manifests" / "crd"
PLURALS = ("etcdclusters", "etcdbackups", "etcdrestores")


def schema_of(plural: str) -> dict[str, Any]:
    schema: dict[str, Any] = crds()[plural]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a schema, with its path."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{path}[]")


def test_the_manifests_are_fresh() -> None:
    written = {file.name: file.read_text(encoding="utf-8") for file in MANIFESTS.glob("*.yaml")}
    assert written == manifests(), "run: python -m app.api.crd"


def test_the_manifests_are_the_crds() -> None:
    for plural, crd in crds().items():
        assert yaml.safe_load((MANIFESTS / f"{plural}.yaml").read_text(encoding="utf-8")) == crd


@pytest.mark.parametrize("plural", PLURALS)
def test_client_side_apply_can_carry_it(plural: str) -> None:
    assert len(json.dumps(crds()[plural]).encode()) <= 200 * 1024


@pytest.mark.parametrize("plural", PLURALS)
def test_it_is_structural(plural: str) -> None:
    for path, node in nodes(schema_of(plural)):
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        assert not node.keys() & {
            "default",
            "$ref",
            "title",
            "allOf",
            "x-kubernetes-preserve-unknown-fields",
        }, path
        assert not ("properties" in node and "additionalProperties" in node), path
        if node.get("type") == "array":
            assert "items" in node, path
            assert "maxItems" in node, path
        if "additionalProperties" in node:
            assert "maxProperties" in node, path
        if node.get("x-kubernetes-list-type") == "map":
            assert set(node["x-kubernetes-list-map-keys"]) <= set(node["items"]["required"]), path


@pytest.mark.parametrize("plural", PLURALS)
def test_every_field_of_ours_is_explained(plural: str) -> None:
    schema = schema_of(plural)
    for part in ("spec", "status"):
        for path, node in nodes(schema["properties"][part], part):
            if not path.endswith("[]") and "[]" not in path:
                assert node.get("description") or ".pod." in path, path


def test_no_range_is_left_to_the_schema_whose_words_would_differ() -> None:
    size = at(schema_of("etcdclusters"), "spec.size")
    assert not size.keys() & {"minimum", "maximum", "enum"}
    assert size["x-kubernetes-validations"][0]["optionalOldSelf"] is True


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    "path",
    [
        "spec.size",
        "spec.TLS.static.member.peerSecret",
        "spec.pod.DNSTimeoutInSecond",
        "spec.pod.ClusterDomain",
        f"spec.pod.affinity.podAntiAffinity.{_REQUIRED}[].topologyKey",
        "spec.pod.etcdEnv[].valueFrom.secretKeyRef.name",
        "spec.pod.persistentVolumeClaimSpec.resources.requests",
        "status.members.ready",
        "status.conditions[].lastUpdateTime",
        "status.journal.latch.members",
        "status.journal.bootstrap.clusterID",
    ],
)
def test_the_schema_has(path: str) -> None:
    assert at(schema_of("etcdclusters"), path)


def test_quantities_are_numbers_or_strings() -> None:
    requests = at(schema_of("etcdclusters"), "spec.pod.resources.requests")
    assert requests["additionalProperties"]["x-kubernetes-int-or-string"] is True


def test_what_is_not_built_is_known_to_the_schema_and_says_so() -> None:
    schema = schema_of("etcdclusters")
    for field in unbuilt.FIELDS:
        assert at(schema, field.path)["description"].startswith("Not available in this version."), field.path


def test_names_and_columns() -> None:
    spec = crds()["etcdclusters"]["spec"]
    assert spec["names"]["shortNames"] == ["etcd"]
    columns = [column["name"] for column in spec["versions"][0]["additionalPrinterColumns"]]
    assert columns[:6] == ["Size", "Ready", "Version", "Phase", "Available", "Age"]
    subresources = spec["versions"][0]["subresources"]
    assert subresources["status"] == {}
    assert ("scale" in subresources) is ("spec.size" not in unbuilt.CHANGES)
    for path in subresources.get("scale", {}).values():
        assert at(schema_of("etcdclusters"), path.removeprefix("."))
    assert crds()["etcdbackups"]["spec"]["versions"][0]["subresources"] == {"status": {}}
    assert "shortNames" not in crds()["etcdbackups"]["spec"]["names"]
    for crd in crds().values():
        assert "preserveUnknownFields" not in crd["spec"]
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
        assert crd["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] == "Prune=false"


def test_the_printer_columns_point_into_the_schema() -> None:
    for plural, crd in crds().items():
        for column in crd["spec"]["versions"][0]["additionalPrinterColumns"]:
            path = column["jsonPath"].removeprefix(".").replace('[?(@.type=="Available")]', "[]")
            if not path.startswith("metadata."):
                assert at(schema_of(plural), path), column


def test_the_extract_names_its_release() -> None:
    assert embedded.kubernetes_release() == "1.34.4"


def test_descriptions_of_embedded_types_end_with_their_first_sentence() -> None:
    assert embedded.first_sentence("One. Two.") == "One."
    assert embedded.first_sentence("As e.g. this one\nhere. More info: x") == "As e.g. this one here."
    assert embedded.first_sentence("") == ""


def test_an_extract_holds_what_is_embedded_and_nothing_else() -> None:
    document = {"components": {"schemas": {name: {"type": "object"} for name in embedded.ROOTS}}}
    document["components"]["schemas"]["io.k8s.other"] = {"type": "string"}
    assert set(embedded.extract(document, "1.0")["schemas"]) == set(embedded.ROOTS)


def test_the_example_has_only_fields_of_the_schema() -> None:
    known = at(schema_of("etcdclusters"), "spec")["properties"]
    assert set(EXAMPLE["spec"]) <= set(known)
