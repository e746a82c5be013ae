"""The verbs, the apply, the Events and the workers on a real API server."""

import asyncio
import json
import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from app.kube import api as verbs
from app.kube.api import Api
from app.kube.applying import NotOurs, apply
from app.kube.barrier import Barrier
from app.kube.errors import (
    AlreadyExists,
    Conflict,
    DeadlineExceeded,
    Invalid,
    KubeError,
    NotFound,
    NotLeading,
)
from app.kube.events import Recorder, Reference
from app.kube.informer import Informer
from app.kube.objects import CustomObject, Service
from app.kube.queue import WorkQueue
from app.kube.resources import CONFIG_MAPS, EVENTS, SERVICES, Resource
from app.kube.watching import Tuning
from app.kube.workers import Workers
from app.ops.metrics import Metrics
from tests.integration.kube.faultproxy import FaultProxy
from tests.unit.kube.fakes import until

pytestmark = pytest.mark.integration

Things = Resource[CustomObject]
FAST = Tuning(silence=1.5, backoff_base=0.05, backoff_cap=0.5)


async def test_the_verbs(api: Api, things: Things, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"x": 1}}
    made = await api.create(things, body, namespace=namespace)
    with pytest.raises(AlreadyExists):
        await api.create(things, body, namespace=namespace)
    assert await api.get(things, namespace, "a") == made
    for name in "bcde":
        await api.create(things, {**body, "metadata": {"name": name}}, namespace=namespace)
    monkeypatch.setattr(verbs, "PAGE_SIZE", 2)
    assert [obj.metadata.name for obj in await api.list(things, namespace)] == list("abcde")
    changed = await api.patch(things, namespace, "a", {"spec": {"x": 2}})
    old = {"metadata": {"resourceVersion": made.metadata.resource_version}}
    with pytest.raises(Conflict):
        await api.patch(things, namespace, "a", old)
    with pytest.raises(Conflict):
        await api.replace(things, {"metadata": {"name": "a", **old["metadata"]}}, namespace=namespace)
    status = await api.patch(things, namespace, "a", {"status": {"phase": "Running"}}, subresource="status")
    assert (status.spec, status.status) == ({"x": 2}, {"phase": "Running"})
    assert status.metadata.generation == changed.metadata.generation


async def test_a_json_patch_with_a_test_changes_only_what_was_meant(
    api: Api, things: Things, namespace: str
) -> None:
    body = {"metadata": {"name": "a", "finalizers": ["x.io/one", "x.io/two"]}}
    await api.create(things, body, namespace=namespace)
    path = "/metadata/finalizers/1"
    patch = [{"op": "test", "path": path, "value": "x.io/two"}, {"op": "remove", "path": path}]
    left = await api.patch(things, namespace, "a", patch)
    assert left.metadata.finalizers == ("x.io/one",)
    with pytest.raises(Invalid):
        await api.patch(things, namespace, "a", patch)
    await api.patch(things, namespace, "a", {"metadata": {"finalizers": None}})


async def test_a_deletion_hits_only_the_object_meant(api: Api, things: Things, namespace: str) -> None:
    body = {"metadata": {"name": "a"}}
    first = (await api.create(things, body, namespace=namespace)).metadata
    await api.delete(things, namespace, "a", uid=first.uid, resource_version=first.resource_version)
    with pytest.raises(NotFound):
        await api.delete(things, namespace, "a")
    second = (await api.create(things, body, namespace=namespace)).metadata
    with pytest.raises(Conflict):
        await api.delete(things, namespace, "a", uid=first.uid)
    await api.patch(things, namespace, "a", {"spec": {"x": 1}})
    with pytest.raises(Conflict):
        await api.delete(things, namespace, "a", resource_version=second.resource_version)


async def test_a_fenced_write_is_not_sent_without_the_lease(faulty: Api, proxy: FaultProxy) -> None:
    remaining = 0.0
    fenced = faulty.fenced(lambda: remaining)
    with pytest.raises(NotLeading):
        await fenced.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace="default")
    assert proxy.seen == []
    remaining = 0.2
    proxy.black_hole = True
    with pytest.raises(DeadlineExceeded):
        await fenced.create(CONFIG_MAPS, {"metadata": {"name": "a"}}, namespace="default")
    # The server is told to give up as well.
    assert proxy.seen[0].query["timeout"] == "200ms"


class Owned:
    """A Service that a ConfigMap owns."""

    def __init__(self, api: Api, namespace: str, uid: str) -> None:
        self.api = api
        self.namespace = namespace
        self.uid = uid

    def body(self, **selector: str) -> dict[str, Any]:
        owner = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": self.uid,
            "controller": True,
        }
        return {
            "metadata": {"name": "svc", "namespace": self.namespace, "ownerReferences": [owner]},
            "spec": {
                "selector": {"app": "etcd", **selector},
                "clusterIP": "None",
                "publishNotReadyAddresses": False,
                "ports": [{"name": "client", "port": 2379, "protocol": "TCP", "targetPort": 2379}],
            },
        }

    async def apply(self, live: Service | None, **selector: str) -> Service | None:
        return await apply(
            self.api, SERVICES, self.body(**selector), live=live, owner_uid=self.uid, marker="x.io/applied"
        )

    async def live(self) -> Service:
        return await self.api.get(SERVICES, self.namespace, "svc")


@pytest.fixture
async def owned(faulty: Api, namespace: str) -> Owned:
    owner = await faulty.create(CONFIG_MAPS, {"metadata": {"name": "owner"}}, namespace=namespace)
    return Owned(faulty, namespace, owner.metadata.uid)


async def test_P22_a_settled_object_is_applied_ten_times_without_a_request(
    owned: Owned, proxy: FaultProxy
) -> None:
    made = await owned.apply(None)
    assert made is not None
    live = await owned.live()
    before = len(proxy.seen)
    for _ in range(10):
        assert await owned.apply(live) is None
    assert len(proxy.seen) == before


async def test_a_hand_edit_is_put_back_and_a_field_no_longer_wanted_removed(owned: Owned) -> None:
    await owned.apply(None, extra="x")
    edit: dict[str, Any] = {
        "spec": {"selector": {"app": "other"}},
        "metadata": {"labels": {"mine": "yes"}},
    }
    edited = await owned.api.patch(SERVICES, owned.namespace, "svc", edit, field_manager="kubectl")
    applied = await owned.apply(edited)
    assert applied is not None
    assert applied.spec["selector"] == {"app": "etcd"}
    assert applied.metadata.labels == {"mine": "yes"}


async def test_a_foreign_object_is_never_touched(owned: Owned) -> None:
    body = {"metadata": {"name": "svc"}, "spec": {"selector": {"z": "z"}, "ports": [{"port": 1}]}}
    foreign = await owned.api.create(SERVICES, body, namespace=owned.namespace)
    with pytest.raises(NotOurs):
        await owned.apply(foreign)
    # A cache that doesn't know of it yet, or knows another one that had the name.
    with pytest.raises(Conflict):
        await owned.apply(None)
    await owned.api.delete(SERVICES, owned.namespace, "svc")
    mine = await owned.apply(None)
    await owned.api.delete(SERVICES, owned.namespace, "svc")
    foreign = await owned.api.create(SERVICES, body, namespace=owned.namespace)
    with pytest.raises((Conflict, Invalid)):
        await owned.apply(mine, other="y")
    assert await owned.live() == foreign


async def test_H12_events_are_recorded_and_repeats_counted(faulty: Api, namespace: str) -> None:
    owner = await faulty.create(CONFIG_MAPS, {"metadata": {"name": "owner"}}, namespace=namespace)
    recorder = Recorder(faulty, controller="example.com/operator", instance="pod-1", metrics=Metrics())
    about = Reference("v1", "ConfigMap", "owner", namespace, owner.metadata.uid)
    task = asyncio.create_task(recorder.run())
    for _ in range(7):
        recorder.emit(about, "Normal", "MemberAdded", "AddMember", "é" * 2000)
        await asyncio.sleep(0)
    recorder.emit(about, "Warning", "QuorumLost", "Observe", "2 of 3 members are gone")
    task.cancel()
    await asyncio.wait([task])
    await recorder.flush(deadline=5)
    stored = await events(faulty, namespace)
    assert {event["reason"]: event.get("series", {}).get("count") for event in stored} == {
        "MemberAdded": 7,
        "QuorumLost": None,
    }
    assert all(len(event["note"].encode()) <= 1024 for event in stored)


async def events(api: Api, namespace: str) -> list[dict[str, Any]]:
    page = await api.page(EVENTS, namespace)
    return [json.loads(bytes(item)) for item in page.items or ()]


async def test_P6_own_writes_are_seen_before_the_next_look(
    faulty: Api, proxy: FaultProxy, things: Things, namespace: str
) -> None:
    informer = Informer(faulty, things, namespace=namespace, metrics=Metrics())
    following = asyncio.create_task(informer.run())
    await informer.synced.wait()
    barrier = Barrier()
    for number in range(20):
        made = await faulty.create(things, {"metadata": {"name": f"x{number}"}}, namespace=namespace)
        barrier.wrote("key", informer, made)
        assert await barrier.wait("key")
        assert informer.store.get(made.metadata.key) == made
        await faulty.delete(things, namespace, made.metadata.name, uid=made.metadata.uid)
        barrier.deleted("key", informer, made)
        assert await barrier.wait("key")
        assert informer.store.get(made.metadata.key) is None
    following.cancel()
    await asyncio.wait([following])


@pytest.mark.parametrize("seed", range(2))
async def test_no_key_is_lost_in_any_weather(
    api: Api, faulty: Api, proxy: FaultProxy, things: Things, namespace: str, seed: int
) -> None:
    """Watch, queue and workers as a controller has them: each key's last reconcile saw its last version."""
    chance = random.Random(seed)
    metrics = Metrics()
    informer = Informer(faulty, things, namespace=namespace, tuning=FAST, metrics=metrics)
    queue = WorkQueue("things", metrics=metrics)
    reconciled: dict[str, str | None] = {}
    in_work: Counter[str] = Counter()

    def wake(old: CustomObject | None, new: CustomObject | None) -> None:
        obj = new or old
        assert obj is not None
        queue.add(obj.metadata.key)

    async def reconcile(key: str) -> None:
        in_work[key] += 1
        assert in_work[key] == 1
        obj = informer.store.get(key)
        await asyncio.sleep(chance.uniform(0, 0.02))
        in_work[key] -= 1
        if chance.random() < 0.2:
            raise KubeError("fails now and then")
        reconciled[key] = obj.metadata.resource_version if obj else None

    informer.subscribe(wake)
    workers = Workers(queue, reconcile, controller="things", number=3, metrics=metrics)
    tasks = [asyncio.create_task(informer.run()), asyncio.create_task(workers.run())]
    for _ in range(100):
        name = f"thing-{chance.randint(0, 19)}"
        with suppress(KubeError):
            match chance.randint(0, 2):
                case 0:
                    await api.create(things, {"metadata": {"name": name}}, namespace=namespace)
                case 1:
                    await api.patch(things, namespace, name, {"spec": {"x": chance.random()}})
                case _:
                    await api.delete(things, namespace, name)
        if chance.random() < 0.1:
            chance.choice([proxy.drop, proxy.stall, proxy.break_in_event])()
    final: dict[str, str | None] = {
        obj.metadata.key: obj.metadata.resource_version for obj in await api.list(things, namespace)
    }
    await until(lambda: {key: version for key, version in reconciled.items() if version} == final)
    queue.shut_down()
    await tasks[1]
    tasks[0].cancel()
    await asyncio.wait(tasks)
