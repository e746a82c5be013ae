from app.plan.observed import ClusterRef
from bench.bootstrap import bare
from bench.stage import ETCD_VERSION


def test_the_floor_is_made_of_the_operators_own_objects_without_an_owner() -> None:
    service, pods = bare(ClusterRef("bare", "ns", uid="6d0b", generation=1))
    assert service["metadata"]["name"] == "bare"
    assert service["spec"]["clusterIP"] == "None"
    assert len({pod["metadata"]["name"] for pod in pods}) == 3
    for pod in pods:
        assert "ownerReferences" not in pod["metadata"]
        (container,) = pod["spec"]["containers"]
        assert container["image"].endswith(f":v{ETCD_VERSION}")
        assert {"startupProbe", "livenessProbe", "readinessProbe", "resources"} <= container.keys()
        founders = pod["metadata"]["annotations"]["etcd.database.coreos.com/initial-cluster"]
        assert founders.count("=http://") == 3
        assert pod["metadata"]["annotations"]["etcd.database.coreos.com/initial-cluster-state"] == "new"
