"""The rules on the Service for clients and on an image in full."""

from __future__ import annotations

from typing import Any

import pytest

from app.api import unbuilt
from app.api.validation import validate
from app.api.verdict import ALLOWED, Reason
from tests.unit.api.checks import faults, warnings
from tests.unit.api.objects import claim, cluster

PATH = "spec.service"
DIGEST = "sha256:" + "0" * 64


def served(*, name: str = "example", pod: dict[str, Any] | None = None, **service: Any) -> dict[str, Any]:
    return cluster(name=name, size=3, service=service, **({"pod": pod} if pod else {}))


DENIED: list[tuple[dict[str, Any], str, Reason, Any]] = [
    (cluster(service="x"), PATH, Reason.TYPE, None),
    (served(type="ExternalName"), f"{PATH}.type", Reason.NOT_SUPPORTED, "ClusterIP"),
    (served(name="a", labels={"app": "x"}), f"{PATH}.labels[app]", Reason.FORBIDDEN, None),
    (served(selector={"etcd_node": "x"}), f"{PATH}.selector[etcd_node]", Reason.FORBIDDEN, None),
    (served(labels={"a": "b c"}), f"{PATH}.labels[a]", Reason.INVALID, "b-c"),
    (served(labels=["a"]), f"{PATH}.labels", Reason.TYPE, None),
    (served(annotations={"a b": "x"}), f"{PATH}.annotations[a b]", Reason.INVALID, None),
    (served(annotations={"a": 1}), f"{PATH}.annotations[a]", Reason.TYPE, None),
    (
        served(annotations={"etcd.database.coreos.com/applied": "x"}),
        f"{PATH}.annotations[etcd.database.coreos.com/applied]",
        Reason.FORBIDDEN,
        None,
    ),
    (cluster(service={"name": "A.b"}), f"{PATH}.name", Reason.INVALID, "a-b"),
    (cluster(service={"name": 1}), f"{PATH}.name", Reason.TYPE, None),
    (cluster(name="a", service={"name": "a"}), f"{PATH}.name", Reason.INVALID, "a-client"),
    (cluster(image=3), "spec.image", Reason.TYPE, None),
    (cluster(image="a b"), "spec.image", Reason.INVALID, None),
    (cluster(image="r.example:5000/etcd"), "spec.image", Reason.INVALID, "r.example:5000/etcd:v3.6.16"),
    (cluster(image="etcd@sha256:12"), "spec.image", Reason.INVALID, None),
]


@pytest.mark.parametrize(("obj", "path", "reason", "nearest"), DENIED)
def test_denied(obj: dict[str, Any], path: str, reason: Reason, nearest: Any) -> None:
    (fault,) = faults(obj)
    assert (fault.path, fault.reason, fault.nearest) == (path, reason, nearest)


ALLOWED_ONES = [
    cluster(service={}),
    served(type="NodePort", annotations={"a.b/C": "x"}, labels={"team": "x"}),
    cluster(service={"name": "door"}),
    cluster(image="r.example:5000/a/etcd:v3.6.16"),
    cluster(image=f"etcd@{DIGEST}"),
    cluster(image=f"etcd:v3.6.16@{DIGEST}"),
    cluster(image="etcd:latest"),
]


@pytest.mark.parametrize("obj", ALLOWED_ONES)
def test_allowed(obj: dict[str, Any]) -> None:
    assert faults(obj) == []


def test_a_selector_that_no_member_meets_is_warned_of() -> None:
    pod = {"labels": {"team": "x"}, "persistentVolumeClaimSpec": claim()}
    assert warnings(served(pod=pod, selector={"team": "x"})) == []
    assert any("selector[team]" in text for text in warnings(served(pod=pod, selector={"team": "y"})))


def test_an_image_whose_tag_is_another_version_is_warned_of() -> None:
    pod = {"persistentVolumeClaimSpec": claim()}
    assert warnings(cluster(pod=pod, image="etcd:v3.6.16", version="3.6.16")) == []
    assert any("v3.6.14" in text for text in warnings(cluster(pod=pod, image="etcd:v3.6.14")))


def test_the_service_may_change_and_the_image_not_yet() -> None:
    assert validate(served(type="NodePort"), served()) == ALLOWED
    assert "spec.image" in unbuilt.CHANGES
    (fault,) = validate(cluster(image="etcd:v3.6.16"), cluster()).faults
    assert fault.path == "spec.image"


def test_a_service_of_a_name_is_one_clusters() -> None:
    neighbours = {"other": "door", "a": "a-client"}
    for name in ("door", "other", "a-client"):
        (fault,) = validate(cluster(service={"name": name}), neighbours=neighbours).faults
        assert fault.path == f"{PATH}.name"
        assert validate(cluster(service={"name": name}), cluster(), neighbours=neighbours).faults
    (fault,) = validate(cluster(name="door"), neighbours=neighbours).faults
    assert fault.path == "metadata.name"
    # Itself is no neighbour, and who does not rename is asked nothing.
    assert validate(
        cluster(name="a", service={"name": "b"}), cluster(name="a"), neighbours=neighbours
    ).allowed
    kept = cluster(service={"name": "door"}, size=5)
    assert validate(kept, cluster(service={"name": "door"}, size=3), neighbours=neighbours).allowed
