"""The Pod of a member."""

from typing import Any

import pytest

from app.api.cluster import ClusterSpec
from app.build.common import Platform
from app.build.pod import annotation_of, pod
from app.plan.revision import revision
from app.plan.actions import CreatePod
from app.plan.observed import ClusterRef

CLUSTER = ClusterRef(name="c", namespace="ns", uid="uid-1", generation=1)
ACTION = CreatePod(
    member="c-abc",
    peer_url="http://c-abc.c.ns.svc:2380",
    annotations={"etcd.database.coreos.com/initial-cluster-state": "new"},
    token="t",
)


def build(platform: Platform | None = None, **spec: Any) -> dict[str, Any]:
    full = ClusterSpec.model_validate({"size": 3, "version": "3.6.16", "repository": "r", **spec})
    return pod(CLUSTER, full, ACTION, platform=platform or Platform())


def container(made: dict[str, Any]) -> dict[str, Any]:
    (only,) = made["spec"]["containers"]
    assert isinstance(only, dict)
    return only


def test_it_has_the_old_operators_names_and_labels() -> None:
    made = build()

    assert made["metadata"]["name"] == "c-abc"
    assert made["metadata"]["labels"] == {"app": "etcd", "etcd_cluster": "c", "etcd_node": "c-abc"}
    assert made["metadata"]["annotations"]["etcd.version"] == "3.6.16"
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("EtcdCluster", "uid-1", True)
    assert (made["spec"]["hostname"], made["spec"]["subdomain"]) == ("c-abc", "c")
    assert [port["name"] for port in container(made)["ports"]] == ["server", "client", "metrics"]
    assert container(made)["volumeMounts"] == [{"name": "etcd-data", "mountPath": "/var/etcd"}]


@pytest.mark.parametrize("version", ["3.6.16", "v3.6.16"])
def test_a_leading_v_means_the_same_image(version: str) -> None:
    assert container(build(version=version))["image"] == "r:v3.6.16"


def test_what_may_change_comes_from_annotations_and_nothing_comes_in_twice() -> None:
    made = build()
    annotations = made["metadata"]["annotations"]
    names = [variable["name"] for variable in container(made)["env"]]

    assert len(set(names)) == len(names)
    for variable in container(made)["env"]:
        path = variable["valueFrom"]["fieldRef"]["fieldPath"]
        assert path == f"metadata.annotations['{annotation_of(variable['name'])}']"
        assert annotation_of(variable["name"]) in annotations
        flag = "--" + variable["name"].removeprefix("ETCD_").lower().replace("_", "-") + "="
        assert not [argument for argument in container(made)["command"] if argument.startswith(flag)]
    assert annotations["etcd.database.coreos.com/initial-cluster-state"] == "new"
    assert annotations["etcd.database.coreos.com/initial-cluster-token"] == "t"


def test_what_the_user_sets_is_not_set_by_us() -> None:
    made = build(
        pod={"etcdEnv": [{"name": "ETCD_FEATURE_GATES", "value": "x"}, {"name": "FOO", "value": "y"}]}
    )
    variables = [variable for variable in container(made)["env"] if variable["name"] == "ETCD_FEATURE_GATES"]

    assert variables == [{"name": "ETCD_FEATURE_GATES", "value": "x"}]
    assert {"name": "FOO", "value": "y"} in container(made)["env"]


def test_X35_it_satisfies_the_restricted_profile_and_has_no_credentials() -> None:
    spec = build()["spec"]

    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    limits = spec["containers"][0]["securityContext"]
    assert limits["allowPrivilegeEscalation"] is False
    assert limits["readOnlyRootFilesystem"] is True
    assert limits["capabilities"] == {"drop": ["ALL"]}


def test_the_platform_may_choose_the_user() -> None:
    context = build(Platform(run_as_user=None))["spec"]["securityContext"]

    assert not {"runAsUser", "runAsGroup", "fsGroup"} & context.keys()


def test_the_users_security_context_is_merged_per_field() -> None:
    context = build(pod={"securityContext": {"runAsUser": 7}})["spec"]["securityContext"]

    assert context["runAsUser"] == 7
    assert context["runAsNonRoot"] is True


def test_H10_every_field_of_the_policy_takes_effect() -> None:
    policy = {
        "labels": {"team": "x"},
        "annotations": {"note": "y"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "resources": {"limits": {"memory": "1Gi"}},
        "affinity": {"nodeAffinity": {}},
        "persistentVolumeClaimSpec": {"resources": {"requests": {"storage": "1Gi"}}},
    }
    made = build(pod=policy)

    assert made["metadata"]["labels"]["team"] == "x"
    assert made["metadata"]["annotations"]["note"] == "y"
    assert made["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert made["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert container(made)["resources"] == {"limits": {"memory": "1Gi"}}
    assert made["spec"]["affinity"] == {"nodeAffinity": {}}
    assert "topologySpreadConstraints" not in made["spec"]
    assert made["spec"]["volumes"] == [{"name": "etcd-data", "persistentVolumeClaim": {"claimName": "c-abc"}}]


def test_H10_the_pod_names_what_it_is_told_to() -> None:
    policy = {
        "priorityClassName": "high",
        "runtimeClassName": "gvisor",
        "schedulerName": "other",
        "serviceAccountName": "etcd",
        "imagePullSecrets": [{"name": "registry"}],
        "imagePullPolicy": "Always",
        "terminationGracePeriodSeconds": 90,
    }
    made = build(pod=policy)

    assert container(made)["imagePullPolicy"] == policy.pop("imagePullPolicy")
    assert {key: made["spec"][key] for key in policy} == policy
    assert made["spec"]["automountServiceAccountToken"] is False
    assert not set(policy) - {"terminationGracePeriodSeconds"} & build()["spec"].keys()
    assert build()["spec"]["terminationGracePeriodSeconds"] == 30


def test_H10_constraints_take_the_place_of_soft_spreading_and_are_about_the_members() -> None:
    zone = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    own = {**zone, "topologyKey": "rack", "labelSelector": {"matchLabels": {"team": "x"}}}
    made = build(pod={"topologySpreadConstraints": [zone, own]})["spec"]

    assert made["topologySpreadConstraints"] == [
        {**zone, "labelSelector": {"matchLabels": {"app": "etcd", "etcd_cluster": "c"}}},
        own,
    ]
    assert "affinity" not in made
    assert (
        not {"affinity", "topologySpreadConstraints"}
        & build(pod={"topologySpreadConstraints": []})["spec"].keys()
    )


def test_H10_X35_the_containers_security_context_is_merged_per_field() -> None:
    given = {"readOnlyRootFilesystem": False, "capabilities": {"add": ["NET_BIND_SERVICE"]}, "runAsUser": 7}
    limits = container(build(pod={"containerSecurityContext": given}))["securityContext"]

    assert limits == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": False,
        "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        "runAsUser": 7,
    }


def test_A8_data_may_live_in_memory() -> None:
    (volume,) = build(pod={"tmpfs": True})["spec"]["volumes"]
    assert volume == {"name": "etcd-data", "emptyDir": {"medium": "Memory"}}


def test_what_a_newer_operator_knows_changes_no_revision() -> None:
    spec = ClusterSpec.model_validate({"size": 3, "version": "3.6.16", "repository": "r"})
    assert revision(spec) == "235f20e397"


def test_the_old_anti_affinity_is_required() -> None:
    affinity = build(pod={"antiAffinity": True})["spec"]["affinity"]

    (term,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"


def test_without_a_word_members_are_spread_softly() -> None:
    spec = build()["spec"]

    terms = spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert {term["podAffinityTerm"]["topologyKey"]: term["weight"] for term in terms} == {
        "kubernetes.io/hostname": 100,
        "topology.kubernetes.io/zone": 50,
    }
    # A constraint for zones would void the one for hosts wherever nodes have no zone.
    assert "topologySpreadConstraints" not in spec


def test_D8_X27_no_probe_depends_on_health_and_liveness_needs_no_quorum() -> None:
    made = container(build())

    assert made["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert made["startupProbe"]["httpGet"]["path"] == "/livez"
    assert made["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert {made[kind]["httpGet"]["port"] for kind in ("livenessProbe", "readinessProbe")} == {2381}
    # 3 s for each 100 MB of the quota of 2 GiB.
    assert made["livenessProbe"]["periodSeconds"] * made["livenessProbe"]["failureThreshold"] >= 62
    assert made["startupProbe"]["periodSeconds"] * made["startupProbe"]["failureThreshold"] >= 300


@pytest.mark.parametrize("version", ["3.2.13", "3.4.23", "3.5.10"])
def test_an_old_etcd_is_probed_by_its_port(version: str) -> None:
    assert "tcpSocket" in container(build(version=version))["readinessProbe"]


def test_the_revision_covers_what_the_user_asked_for_only() -> None:
    spec = ClusterSpec.model_validate({"size": 3, "version": "3.6.16", "repository": "r"})

    assert revision(spec) == revision(spec.model_copy(update={"size": 5, "paused": True}))
    assert revision(spec) == revision(spec.model_copy(update={"version": "v3.6.16"}))
    assert revision(spec) != revision(spec.model_copy(update={"version": "3.6.14"}))
