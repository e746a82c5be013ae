"""The rules on what is handed on to the members' Pods: names, spreading, rights, memory."""

from __future__ import annotations

from typing import Any

import pytest

from app.api.validation import validate
from app.api.verdict import Reason
from tests.unit.api.checks import faults, warnings
from tests.unit.api.objects import claim, with_pod

POD = "spec.pod"
SPREAD = f"{POD}.topologySpreadConstraints[0]"
LIMITS = f"{POD}.containerSecurityContext"
NAMES = ("priorityClassName", "runtimeClassName", "schedulerName", "serviceAccountName")


def spread(**changes: Any) -> dict[str, Any]:
    one = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **changes}
    return with_pod(
        topologySpreadConstraints=[{key: value for key, value in one.items() if value is not None}]
    )


def limited(**context: Any) -> dict[str, Any]:
    return with_pod(containerSecurityContext=context)


DENIED: list[tuple[dict[str, Any], str, Reason, Any]] = [
    *((with_pod(**{name: "A b"}), f"{POD}.{name}", Reason.INVALID, None) for name in NAMES),
    *((with_pod(**{name: ""}), f"{POD}.{name}", Reason.INVALID, None) for name in NAMES),
    *((with_pod(**{name: ["a"]}), f"{POD}.{name}", Reason.TYPE, None) for name in NAMES),
    (with_pod(imagePullPolicy="always"), f"{POD}.imagePullPolicy", Reason.NOT_SUPPORTED, "IfNotPresent"),
    (with_pod(imagePullSecrets="a"), f"{POD}.imagePullSecrets", Reason.TYPE, None),
    (with_pod(imagePullSecrets=["a"]), f"{POD}.imagePullSecrets[0]", Reason.TYPE, None),
    (with_pod(imagePullSecrets=[{}]), f"{POD}.imagePullSecrets[0].name", Reason.REQUIRED, None),
    (with_pod(imagePullSecrets=[{"name": "A"}]), f"{POD}.imagePullSecrets[0].name", Reason.INVALID, None),
    (
        with_pod(imagePullSecrets=[{"name": "a"}, {"name": "a"}]),
        f"{POD}.imagePullSecrets[1].name",
        Reason.DUPLICATE,
        None,
    ),
    (
        with_pod(terminationGracePeriodSeconds=0),
        f"{POD}.terminationGracePeriodSeconds",
        Reason.INVALID,
        1,
    ),
    (
        with_pod(terminationGracePeriodSeconds="30"),
        f"{POD}.terminationGracePeriodSeconds",
        Reason.TYPE,
        None,
    ),
    (with_pod(tmpfs="yes"), f"{POD}.tmpfs", Reason.TYPE, None),
    (with_pod(tmpfs=True, persistentVolumeClaimSpec=claim()), f"{POD}.tmpfs", Reason.FORBIDDEN, None),
    (spread(topologyKey=None), f"{SPREAD}.topologyKey", Reason.REQUIRED, "kubernetes.io/hostname"),
    (spread(topologyKey="a b"), f"{SPREAD}.topologyKey", Reason.INVALID, None),
    (spread(maxSkew=0), f"{SPREAD}.maxSkew", Reason.INVALID, 1),
    (spread(maxSkew=None), f"{SPREAD}.maxSkew", Reason.TYPE, None),
    (spread(minDomains=0), f"{SPREAD}.minDomains", Reason.INVALID, 1),
    (
        spread(whenUnsatisfiable="Never"),
        f"{SPREAD}.whenUnsatisfiable",
        Reason.NOT_SUPPORTED,
        "ScheduleAnyway",
    ),
    (
        spread(whenUnsatisfiable="ScheduleAnyway", minDomains=2),
        f"{SPREAD}.minDomains",
        Reason.FORBIDDEN,
        None,
    ),
    (spread(nodeTaintsPolicy="Yes"), f"{SPREAD}.nodeTaintsPolicy", Reason.NOT_SUPPORTED, None),
    (
        spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "Is"}]}),
        f"{SPREAD}.labelSelector.matchExpressions[0].operator",
        Reason.NOT_SUPPORTED,
        None,
    ),
    (limited(runAsUser=-1), f"{LIMITS}.runAsUser", Reason.INVALID, 0),
    (limited(runAsUser=0), f"{LIMITS}.runAsUser", Reason.INVALID, 1000),
    (limited(windowsOptions={"hostProcess": True}), f"{LIMITS}.windowsOptions", Reason.FORBIDDEN, None),
    (
        limited(seccompProfile={"type": "None"}),
        f"{LIMITS}.seccompProfile.type",
        Reason.NOT_SUPPORTED,
        "RuntimeDefault",
    ),
    (limited(privileged=True), f"{LIMITS}.allowPrivilegeEscalation", Reason.INVALID, True),
    (
        limited(capabilities={"add": ["SYS_ADMIN"]}, allowPrivilegeEscalation=False),
        f"{LIMITS}.allowPrivilegeEscalation",
        Reason.INVALID,
        True,
    ),
    (limited(capabilities={"add": "ALL"}), f"{LIMITS}.capabilities.add", Reason.TYPE, None),
]


@pytest.mark.parametrize(("obj", "path", "reason", "nearest"), DENIED)
def test_denied(obj: dict[str, Any], path: str, reason: Reason, nearest: Any) -> None:
    (fault,) = faults(obj)
    assert (fault.path, fault.reason, fault.nearest) == (path, reason, nearest)


def test_a_key_may_be_given_once_for_each_answer() -> None:
    one = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    (fault,) = faults(with_pod(topologySpreadConstraints=[one, one]))
    assert (fault.path, fault.reason) == (f"{POD}.topologySpreadConstraints[1]", Reason.DUPLICATE)
    other = {**one, "whenUnsatisfiable": "ScheduleAnyway"}
    assert faults(with_pod(topologySpreadConstraints=[one, other])) == []


ALLOWED = [
    *(with_pod(**{name: "a.b-c"}) for name in NAMES),
    with_pod(imagePullSecrets=[{"name": "a"}, {"name": "b"}], imagePullPolicy="Never"),
    with_pod(terminationGracePeriodSeconds=1),
    with_pod(tmpfs=True),
    with_pod(tmpfs=False, persistentVolumeClaimSpec=claim()),
    with_pod(topologySpreadConstraints=[]),
    spread(minDomains=2, nodeAffinityPolicy="Honor", matchLabelKeys=["a"]),
    limited(readOnlyRootFilesystem=False, runAsUser=7),
    limited(runAsUser=0, runAsNonRoot=False),
    with_pod(securityContext={"runAsNonRoot": False}, containerSecurityContext={"runAsUser": 0}),
    limited(privileged=True, allowPrivilegeEscalation=True),
]


@pytest.mark.parametrize("obj", ALLOWED)
def test_allowed(obj: dict[str, Any]) -> None:
    assert faults(obj) == []


def test_A8_what_memory_implies_is_said() -> None:
    said = warnings(with_pod(tmpfs=True))
    assert any("data is in memory and lost with the Pod" in text for text in said)
    assert any("without resources.limits.memory" in text for text in said)
    limit = {"limits": {"memory": "1Gi"}}
    assert len(warnings(with_pod(tmpfs=True, resources=limit))) == 1


@pytest.mark.parametrize(
    "context",
    [
        {"capabilities": {"add": ["CHOWN"]}},
        {"allowPrivilegeEscalation": True},
        {"seccompProfile": {"type": "Unconfined"}},
        {"runAsNonRoot": False},
    ],
)
def test_X35_giving_up_the_restricted_profile_is_warned_of(context: dict[str, Any]) -> None:
    assert any(text.startswith(LIMITS) for text in warnings(limited(**context)))


@pytest.mark.parametrize("field", [{"priorityClassName": "a"}, {"tmpfs": True}, {"imagePullPolicy": "Never"}])
def test_a_change_on_a_living_cluster_is_denied_as_long_as_nothing_rolls(field: dict[str, Any]) -> None:
    (fault,) = validate(with_pod(**field), with_pod()).faults
    assert fault.path == POD
