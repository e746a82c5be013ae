"""The store beside a plain model."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.kube.cache import Store
from app.kube.objects import Metadata, Object

names = st.sampled_from(["a", "b", "c", "d"])
labels = st.dictionaries(st.sampled_from(["app", "etcd_cluster"]), st.sampled_from(["x", "y"]))


def by_label(obj: Object) -> list[str]:
    return [f"{key}={value}" for key, value in (obj.metadata.labels or {}).items()]


@settings(deadline=None)
@given(st.lists(st.tuples(names, st.none() | labels)))
def test_indexes_agree_with_the_objects(steps: list[tuple[str, dict[str, str] | None]]) -> None:
    store: Store[Object] = Store({"label": by_label})
    model: dict[str, Object] = {}
    for name, wanted in steps:
        if wanted is None:
            assert store.remove(f"ns/{name}") == model.pop(f"ns/{name}", None)
        else:
            obj = Object(metadata=Metadata(name=name, namespace="ns", labels=wanted))
            assert store.put(obj) == model.get(obj.metadata.key)
            model[obj.metadata.key] = obj
        assert {key: store.get(key) for key in store} == model
        for value in ("app=x", "app=y", "etcd_cluster=x", "etcd_cluster=y"):
            expected = [model[key] for key in sorted(model) if value in by_label(model[key])]
            assert store.by_index("label", value) == expected
    assert len(store) == len(model)


def test_empty_index_values_are_dropped() -> None:
    store: Store[Object] = Store({"label": by_label})
    for number in range(100):
        store.put(Object(metadata=Metadata(name="a", labels={"app": str(number)})))
    assert len(store._indexes["label"]) == 1
    store.remove("a")
    assert not store._indexes["label"]
