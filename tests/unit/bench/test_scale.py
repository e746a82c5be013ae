from app.kube.objects import CustomObject, Metadata
from bench.fleet import NAMESPACE, address, describe, running
from bench.proxy import Seen
from bench.scale import first_acts


def test_members_have_loopback_addresses_of_their_own() -> None:
    found = {address(cluster, member) for cluster in range(1000) for member in range(3)}
    assert len(found) == 3000
    assert all(one.startswith("127.") and all(int(part) < 256 for part in one.split(".")) for one in found)


def test_the_stub_learns_the_ids_that_etcd_would_compute() -> None:
    made = CustomObject(metadata=Metadata(name="c00000", namespace=NAMESPACE, uid="6d0b"))
    told = describe(made, 0)
    assert [one["address"] for one in told["members"]] == ["127.16.0.1", "127.16.0.2", "127.16.0.3"]
    assert len({one["id"] for one in told["members"]} | {told["id"]}) == 4
    for one in told["members"]:
        assert one["peer_url"] == f"http://{one['name']}.c00000.{NAMESPACE}.svc:2380"


def test_a_pod_that_pretends_is_ready() -> None:
    status = running("127.16.0.1")
    assert status["podIP"] == "127.16.0.1"
    assert {one["type"] for one in status["conditions"]} >= {"Ready", "PodScheduled"}


def test_an_act_is_the_first_write_about_a_cluster() -> None:
    path = f"/apis/etcd.database.coreos.com/v1beta2/namespaces/{NAMESPACE}/etcdclusters"

    def seen(at: float, method: str, name: str) -> Seen:
        return Seen(at, method, f"{path}/{name}", whole=False)

    found = first_acts(
        [
            seen(1, "GET", "a"),
            seen(2, "PATCH", "a/status"),
            seen(3, "PATCH", "b"),
            seen(4, "PATCH", "a/status"),
            Seen(5, "PATCH", "/api/v1/namespaces/x/pods/c", whole=False),
        ]
    )
    assert found == {"a": 2, "b": 3}
