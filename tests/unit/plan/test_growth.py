"""Volumes that are to be larger."""

from dataclasses import replace
from typing import Any

from app.api.cluster import ClusterSpec
from app.plan.actions import CreatePod, GrowVolume
from app.plan.observed import Observed
from tests.unit.plan.looks import MEMBERS, A, B, C, condition, decide, latched, look, volume
from tests.unit.plan.outages import message, of

JOURNAL = latched(persistent=True)


def asking(storage: str) -> ClusterSpec:
    claim = {"resources": {"requests": {"storage": storage}}}
    return ClusterSpec.model_validate(
        {"size": 3, "version": "3.6.16", "pod": {"persistentVolumeClaimSpec": claim}}
    )


def sized(requested: str = "1Gi", capacity: str = "1Gi", **changes: Any) -> Observed:
    seen = look(JOURNAL, pods=MEMBERS, answering=MEMBERS)
    claims = {name: volume(name, JOURNAL, requested=requested, capacity=capacity) for name in MEMBERS}
    return replace(seen, volumes=claims, **changes)


def test_F2_every_claim_is_asked_to_grow_by_its_uid() -> None:
    decision = decide(sized(), asking("2Gi"))

    assert set(of(decision, GrowVolume)) == {GrowVolume(name, f"pvc-{name}", "2Gi") for name in MEMBERS}
    assert [event.reason for event in decision.events] == ["VolumesExpanding"]


def test_F2_ready_waits_until_the_volumes_have_grown_and_nothing_is_degraded() -> None:
    growing = decide(sized(requested="2Gi"), asking("2Gi"))
    assert of(growing, GrowVolume) == []
    assert condition(growing, "Ready") == ("False", "VolumeExpanding")
    assert condition(growing, "Progressing")[0] == "True"
    assert condition(growing, "Degraded")[0] == "False"
    assert condition(growing, "Stalled")[0] == "False"
    assert condition(growing, "Available")[0] == "True"

    grown = decide(sized(requested="2Gi", capacity="2048Mi"), asking("2Gi"))
    assert condition(grown, "Ready") == ("True", "AsSpecified")


def test_F2_a_class_that_does_not_allow_it_is_told_and_not_asked_again() -> None:
    refused = dict.fromkeys(MEMBERS, "the storageclass must support resize")

    decision = decide(sized(refusals=refused), asking("2Gi"))

    assert of(decision, GrowVolume) == []
    assert condition(decision, "Stalled") == ("True", "VolumeNotExpandable")
    assert condition(decision, "Ready") == ("False", "VolumeNotExpandable")
    assert "must support resize" in message(decision, "Stalled")
    assert condition(decision, "Available")[0] == "True"


def test_F3_members_are_healed_while_a_volume_may_not_grow() -> None:
    refused = dict.fromkeys(MEMBERS, "no")
    seen = sized(refusals=refused)
    pods = {name: seen.pods[name] for name in (A, B)}
    answers = {name: seen.answers[name] for name in (A, B)}

    decision = decide(replace(seen, pods=pods, answers=answers, absent=frozenset({C})), asking("2Gi"))

    assert [one.member for one in of(decision, CreatePod)] == [C]


def test_F2_no_claim_is_asked_to_shrink_or_before_it_is_bound_or_when_it_goes() -> None:
    assert of(decide(sized("4Gi", "4Gi"), asking("2Gi")), GrowVolume) == []
    assert of(decide(sized("1Gi", ""), asking("2Gi")), GrowVolume) == []
    assert of(decide(sized("1024Mi", "1Gi"), asking("1Gi")), GrowVolume) == []
    seen = sized()
    going = {**seen.volumes, A: replace(seen.volumes[A], terminating=True)}
    assert {one.name for one in of(decide(replace(seen, volumes=going), asking("2Gi")), GrowVolume)} == {B, C}


def test_F2_a_paused_cluster_grows_no_volume() -> None:
    paused = asking("2Gi").model_copy(update={"paused": True})

    assert of(decide(sized(), paused), GrowVolume) == []
