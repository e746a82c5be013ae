"""Objects of cert-manager's and the Prometheus operator's kinds, on an API server that has their CRDs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster import foreign_crds
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.e2e.installation import MANIFESTS, kustomized, overlay_for
from tests.e2e.kube import Object
from tests.integration.manifests.overlays import differences, live

pytestmark = pytest.mark.integration

GROUPS = ("cert-manager.io", "monitoring.coreos.com")


@pytest.fixture(scope="module")
def server(control_plane: Cluster) -> Iterator[Cluster]:
    """With the CRDs, as their projects ship them."""
    text = yaml.safe_dump_all(foreign_crds.ensure())
    control_plane.kubectl("apply", "--server-side", "-f-", text=text)
    try:
        control_plane.kubectl("wait", "--for=condition=Established", "-f-", "--timeout=60s", text=text)
        yield control_plane
    finally:
        control_plane.kubectl("delete", "-f-", text=text)


def check(server: Cluster, objects: list[Object]) -> None:
    """They are applied without a word of complaint, and stored to the letter."""
    text = yaml.safe_dump_all(objects)
    strict = ("apply", "--server-side", "--validate=strict", "--warnings-as-errors", "-f-")
    try:
        server.kubectl(*strict, text=text)
        stored = live(server, objects)
        assert [one for pair in zip(objects, stored, strict=True) for one in differences(*pair)] == []
    finally:
        server.kubectl("delete", "--ignore-not-found", "-f-", text=text)


def of_their_kinds(objects: list[Object]) -> set[str]:
    return {one["kind"] for one in objects if one["apiVersion"].partition("/")[0] in GROUPS}


def test_the_overlay_for_cert_manager_is_stored(server: Cluster, namespace: str, tmp_path: Path) -> None:
    folder = overlay_for("namespaced", namespace, tmp_path).parent / "with-cert-manager"
    folder.mkdir()
    kustomization = {"resources": ["../namespaced"], "components": ["../webhook/cert-manager"]}
    (folder / "kustomization.yaml").write_text(json.dumps(kustomization))
    objects = kustomized(folder)
    assert of_their_kinds(objects) == {"Certificate", "Issuer"}
    check(server, [one for one in objects if one["kind"] != "Namespace"])


def test_what_is_for_prometheus_is_stored(server: Cluster, namespace: str) -> None:
    objects = [
        {**one, "metadata": {**one["metadata"], "namespace": namespace}}
        for one in kustomized(MANIFESTS / "prometheus")
    ]
    assert of_their_kinds(objects) == {"PodMonitor", "PrometheusRule"}
    check(server, objects)


@pytest.mark.parametrize("kind", ["Certificate", "Issuer", "PodMonitor", "PrometheusRule"])
def test_a_field_that_their_kinds_lack_would_be_noticed(server: Cluster, namespace: str, kind: str) -> None:
    group = "cert-manager.io" if kind in {"Certificate", "Issuer"} else "monitoring.coreos.com"
    odd = {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "odd", "namespace": namespace},
        "spec": {"unheardOf": True},
    }
    with pytest.raises(HarnessError, match="unheardOf"):
        check(server, [odd])
