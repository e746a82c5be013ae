"""Recovery from a permanent loss of quorum, as a user orders it."""

import json
from functools import partial

import pytest

from tests.cluster.cluster import Cluster
from tests.e2e import kube
from tests.e2e.etcd_client import EtcdClient
from tests.e2e.installation import Installation, kill_leader
from tests.e2e.kube import Object, eventually
from tests.e2e.subject import CLAIM, Subject

pytestmark = pytest.mark.e2e

ON_VOLUMES: Object = {"size": 3, "pod": {"persistentVolumeClaimSpec": CLAIM}}
FORCE = f"{kube.GROUP}/force-new-cluster"
STEPS = ("Fencing", "Inspecting", "Forcing", "Stopping", "Restarting", "Growing", "Done")


def token(subject: Subject) -> str:
    """What the incident is called, once there is one."""
    incident = subject.status["journal"].get("incident", {})
    return str(incident.get("token", ""))


def journal(subject: Subject) -> Object:
    found: Object = subject.status["journal"].get("recovery", {})
    return found


def reached(subject: Subject, step: str) -> bool:
    """Whether a recovery has come to a step, or is beyond it already."""
    now = journal(subject).get("step", "")
    return now in STEPS and STEPS.index(now) >= STEPS.index(step)


def order(subject: Subject, named: str) -> None:
    subject.kubectl("annotate", "--overwrite", kube.RESOURCE, subject.name, f"{FORCE}={named}")


def destroy(subject: Subject, *members: str) -> None:
    """Lose members for good: their claims, and so their data, and their Pods."""
    subject.kubectl("delete", "pvc", "--wait=false", *members)
    subject.kubectl("delete", "pod", "--now", *members)


@pytest.mark.timeout(600)
def test_A13_A14_X22_two_of_three_members_destroyed_are_recovered_from_the_one_that_is_left(
    cluster: Cluster, subject: Subject, client: EtcdClient
) -> None:
    subject.apply(**ON_VOLUMES)
    subject.wait_ready(timeout=120)
    client.put(subject.url, "kept", "yes")
    cluster_id = subject.status["clusterID"]
    *gone, left = sorted(subject.pods())
    destroy(subject, *gone)

    # It is told, named, and nothing is destroyed until the user says so.
    subject.wait("Available", "False")
    incident = eventually(lambda: token(subject), what="a name for the incident", timeout=60)
    eventually(lambda: incident in subject.condition("Available")["message"], what="the way out to be told")
    order(subject, "another-incident")
    eventually(
        lambda: subject.condition("Recovering")["reason"] == "OrderIgnored", what="a wrong order to be told"
    )
    claim = subject.uids("persistentvolumeclaims")[left]

    order(subject, incident)
    eventually(lambda: journal(subject).get("step") == "Done", what="the recovery", timeout=300)
    subject.wait_ready(timeout=120)

    status = subject.status
    assert status["clusterID"] == cluster_id
    assert journal(subject)["survivor"] == left
    assert incident in journal(subject)["consumed"]
    assert status["size"] == status["readyMembers"] == 3
    assert client.get(subject.url, "kept") == "yes"
    assert client.member_ids(subject.url).keys() == subject.pods().keys()
    assert not set(gone) & subject.pods().keys()
    claims = subject.uids("persistentvolumeclaims")
    assert claims.keys() == subject.pods().keys()
    assert claims[left] == claim
    helpers = [
        pod["metadata"]["name"]
        for pod in kube.listed(cluster, "pods", subject.namespace)
        if f"{kube.GROUP}/task" in pod["metadata"].get("labels", {})
    ]
    assert not helpers

    # The annotation is still there, as one in Git would be: through a second outage it does nothing.
    again = sorted(subject.pods())[:2]
    destroy(subject, *again)
    subject.wait("Available", "False")
    second = eventually(lambda: token(subject), what="a name for the second incident", timeout=60)
    assert second != incident
    eventually(
        lambda: "followed once" in subject.condition("Recovering")["message"], what="why it is ignored"
    )
    assert journal(subject)["step"] == "Done"
    assert (
        json.loads(subject.kubectl("get", kube.RESOURCE, subject.name, "-o", "json"))["metadata"][
            "annotations"
        ][FORCE]
        == incident
    )

    # The spec gives the same order by itself, after its time, since two of three claims are gone.
    subject.patch(recovery={"quorumLoss": "ForceNewCluster", "memberReplaceAfterSeconds": 30})
    eventually(lambda: second in journal(subject)["consumed"], what="the recovery to begin", timeout=90)
    eventually(lambda: journal(subject).get("step") == "Done", what="the second recovery", timeout=300)
    subject.wait_ready(timeout=120)
    assert client.get(subject.url, "kept") == "yes"
    assert subject.status["clusterID"] == cluster_id


@pytest.mark.timeout(900)
def test_A13_I1_a_recovery_survives_the_death_of_the_operator_at_each_step_and_of_the_first_survivor(
    cluster: Cluster, operator: Installation, subject: Subject, client: EtcdClient
) -> None:
    """Two of five have their data, so there is a choice."""
    subject.apply(**{**ON_VOLUMES, "size": 5})
    subject.wait_ready(timeout=180)
    client.put(subject.url, "kept", "yes")
    *gone, one, other = sorted(subject.pods())
    destroy(subject, *gone)
    subject.wait("Available", "False")
    incident = eventually(lambda: token(subject), what="a name for the incident", timeout=60)
    # What is asked for meanwhile is what it grows back to.
    subject.patch(size=1)
    order(subject, incident)

    for step in STEPS[:3]:
        eventually(partial(reached, subject, step), what=f"the step {step}", timeout=120)
        kill_leader(operator)
    first = eventually(lambda: str(journal(subject).get("survivor", "")), what="a survivor", timeout=60)
    subject.kubectl("delete", "pvc", "--wait=false", first)
    eventually(
        lambda: first in journal(subject).get("abandoned", ()),
        what="the survivor to be given up",
        timeout=180,
    )
    survivors = set()
    for step in STEPS[1:5]:
        eventually(partial(reached, subject, step), what=f"the step {step} again", timeout=120)
        survivors |= {journal(subject).get("survivor")}
        kill_leader(operator)
    eventually(lambda: journal(subject).get("step") == "Done", what="the recovery", timeout=180)
    subject.wait_ready(timeout=60)

    survivor = journal(subject)["survivor"]
    assert survivors - {None, ""} == {survivor}
    assert {first, survivor} == {one, other}
    assert set(subject.pods()) == subject.uids("persistentvolumeclaims").keys() == {survivor}
    assert client.member_ids(subject.url).keys() == {survivor}
    assert client.get(subject.url, "kept") == "yes"
