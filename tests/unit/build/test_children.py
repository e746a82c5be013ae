"""Services and claims."""

from app.api.cluster import ClusterSpec, ServicePolicy
from app.build.common import Platform
from app.build.pdb import pdb
from app.build.pod import pod
from app.plan.revision import revision
from app.build.service import service
from app.build.volume import claim, retention
from app.plan.actions import CreatePod
from app.plan.observed import ClusterRef

CLUSTER = ClusterRef(name="c", namespace="ns", uid="uid-1", generation=1)


def test_X24_the_peer_service_publishes_members_that_are_not_ready() -> None:
    spec = service(CLUSTER, ServicePolicy(), name="c", client=False)["spec"]

    assert spec["clusterIP"] == "None"
    assert spec["publishNotReadyAddresses"] is True
    assert [(port["name"], port["port"]) for port in spec["ports"]] == [("client", 2379), ("peer", 2380)]


def test_the_client_service_sends_to_ready_members_only() -> None:
    made = service(CLUSTER, ServicePolicy(), name="c-client", client=True)

    assert "publishNotReadyAddresses" not in made["spec"]
    assert [(port["name"], port["port"]) for port in made["spec"]["ports"]] == [("client", 2379)]
    assert made["spec"]["selector"] == {"app": "etcd", "etcd_cluster": "c"}


def test_X39_a_claim_is_for_one_pod_unless_the_user_says_otherwise() -> None:
    wanted = {"resources": {"requests": {"storage": "1Gi"}}}

    assert claim(CLUSTER, member="m", spec=wanted)["spec"]["accessModes"] == ["ReadWriteOncePod"]
    own = claim(CLUSTER, member="m", spec={**wanted, "accessModes": ["ReadWriteOnce"]})
    assert own["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert own["metadata"]["labels"]["etcd_node"] == "m"


def test_H2_X20_the_budget_is_an_integer_over_the_members_alone() -> None:
    made = pdb(CLUSTER, min_available=2)

    assert made["metadata"]["name"] == "c"
    assert made["spec"] == {
        "minAvailable": 2,
        "selector": {"matchLabels": {"app": "etcd", "etcd_cluster": "c"}},
        "unhealthyPodEvictionPolicy": "IfHealthyBudget",
    }
    assert made["metadata"]["ownerReferences"][0]["uid"] == "uid-1"


def test_the_client_service_is_as_the_user_wants_it_and_the_other_is_not() -> None:
    policy = ServicePolicy(
        type="LoadBalancer",
        annotations={"lb": "internal"},
        labels={"team": "x", "app": "mine"},
        selector={"zone": "a", "app": "mine"},
    )
    made = service(CLUSTER, policy, name="door", client=True)

    assert made["spec"]["type"] == "LoadBalancer"
    assert made["spec"]["selector"] == {"zone": "a", "app": "etcd", "etcd_cluster": "c"}
    assert made["metadata"]["annotations"] == {"lb": "internal"}
    assert made["metadata"]["labels"] == {"team": "x", "app": "etcd", "etcd_cluster": "c"}
    peers = service(CLUSTER, policy, name="c", client=False)
    assert peers == service(CLUSTER, ServicePolicy(), name="c", client=False)


def test_an_image_in_full_wins_over_the_repository() -> None:
    plain = {"size": 3, "version": "3.6.16", "repository": "r"}
    full = ClusterSpec.model_validate({**plain, "image": "mirror/etcd@sha256:" + "0" * 64})
    action = CreatePod(member="c-a", peer_url="http://c-a.c.ns.svc:2380", annotations={}, token="t")
    made = pod(CLUSTER, full, action, platform=Platform())

    assert made["spec"]["containers"][0]["image"] == full.image
    assert made["metadata"]["annotations"]["etcd.version"] == "3.6.16"
    assert revision(full) != revision(ClusterSpec.model_validate(plain))


def test_G4_a_retained_claim_has_no_owner_and_says_whose_it_is() -> None:
    wanted = {"resources": {"requests": {"storage": "1Gi"}}}
    kept = claim(CLUSTER, member="m", spec=wanted, retain=True)["metadata"]
    owned = claim(CLUSTER, member="m", spec=wanted)["metadata"]

    assert "ownerReferences" not in kept
    assert kept["annotations"] == {"etcd.database.coreos.com/cluster-uid": "uid-1"}
    assert owned["ownerReferences"][0]["uid"] == "uid-1"
    assert "annotations" not in owned
    # The patches lead from one to the other.
    assert retention(CLUSTER, retain=True) == {"ownerReferences": None, "annotations": kept["annotations"]}
    assert retention(CLUSTER, retain=False)["ownerReferences"] == owned["ownerReferences"]
