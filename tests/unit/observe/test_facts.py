"""What objects say, as facts."""

import json
from typing import Any

import msgspec

from app.build.pdb import pdb
from app.kube.objects import Pod, PodDisruptionBudget
from app.observe.facts import budget_facts
from app.plan.observed import BudgetFacts, ClusterRef

CLUSTER = ClusterRef(name="c", namespace="ns", uid="uid-1", generation=1)
MEMBER = msgspec.json.decode(
    json.dumps({"metadata": {"name": "c-a", "labels": {"app": "etcd", "etcd_cluster": "c", "team": "x"}}}),
    type=Pod,
)


def facts(body: dict[str, Any], **spec: Any) -> BudgetFacts:
    text = json.dumps({**body, "spec": {**body["spec"], **spec}})
    return budget_facts(msgspec.json.decode(text, type=PodDisruptionBudget), CLUSTER, [MEMBER])


def test_H2_ours_as_it_was_written_has_not_drifted() -> None:
    seen = facts(pdb(CLUSTER, min_available=2))

    assert (seen.ours, seen.selects, seen.min_available, seen.drifted) == (True, True, 2, False)
    assert facts(pdb(CLUSTER, min_available=2), unhealthyPodEvictionPolicy="AlwaysAllow").drifted
    assert facts(pdb(CLUSTER, min_available=2), minAvailable="50%").min_available is None


def test_H2_one_of_anybodys_may_select_a_member_by_its_labels() -> None:
    theirs = {"metadata": {"name": "theirs", "namespace": "ns"}, "spec": {}}

    assert facts(theirs, selector={"matchLabels": {"team": "x"}}).selects
    assert not facts(theirs, selector={"matchLabels": {"team": "y"}}).selects
    assert not facts(theirs).ours


def test_H2_one_of_an_earlier_cluster_of_the_name_is_on_its_way_out() -> None:
    body = pdb(ClusterRef(name="c", namespace="ns", uid="uid-0", generation=1), min_available=2)
    seen = facts(body)

    assert (seen.ours, seen.terminating) == (False, True)
