"""Each rule through the API server: what breaks it is denied on create and on update, what was mended passes.

The cases are those of `tests.unit.api.rule_cases`, where a test sees to it that no rule is without one. Three
layers may deny: the schema, CEL, the webhook; the first hides the others. Which one it has to be follows from
the object, and the webhook's words are compared with those of the rule.

A rule on a change has no meaning on create; a name can't be changed, so a rule on names has none on update.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from app.api import cel
from app.api.conformance import check_schema
from app.api.crd import crds
from app.api.defaults import CREATED, KEPT
from app.api.kinds import rules_for
from app.kube.api import Api
from app.kube.client import connect
from app.kube.resources import NAMESPACES
from app.ops.metrics import Metrics
from tests.integration.webhooks.court import Court
from tests.integration.webhooks.stack import Stack
from tests.integration.webhooks.waiting import until
from tests.unit.api import test_pod_rules, test_rules, test_service_rules, test_workload_rules
from tests.unit.api.objects import changed, cluster
from tests.unit.api.rule_cases import CHANGES, CREATIONS, KINDS, NEIGHBOURS, NEW_KINDS, SCALES, WARNED, Case

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from app.api.base import JsonObject
    from app.api.verdict import Fault
    from app.kube.errors import StatusCause
    from tests.integration.webhooks.kubectl import Kubectl

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

_CEL = tuple(
    rule["message"]
    for kind in ("EtcdCluster", "EtcdBackup", "EtcdRestore")
    for rules in cel.rules_of(kind).values()
    for rule in rules
)
_EARLIER = {
    "environment.check_environment-3": "names are keys of the list",
    "metadata.check_annotations-3": "strings have a greatest length",
    "resources._check_amount-2": "quantities have a pattern",
    "scheduling._check_spreading-6": "topologyKey and whenUnsatisfiable are keys of the list",
    "workload._check_pull_secrets-3": "names are keys of the list",
}
"""Rules that the API server has as well, besides the schema's types and CEL, and why."""


class Scene:
    """The court, and the objects that were stored before the webhooks came."""

    def __init__(self, court: Court) -> None:
        self.court = court
        self.changing: dict[int, JsonObject] = {}
        self.others: dict[str, JsonObject] = {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(kubeconfig: Path, kubectl: Kubectl, kinds: None, address: str) -> AsyncIterator[Scene]:
    transport = await connect(str(kubeconfig), metrics=Metrics())
    api = Api(transport)
    name = (await api.create(NAMESPACES, {"metadata": {"generateName": "test-"}})).metadata.name
    stack = Stack(api, address=address, namespace=name, neighbours=NEIGHBOURS)
    scene = Scene(Court(transport, stack))
    try:
        for number, case in enumerate(CHANGES):
            assert case.old is not None
            scene.changing[number] = await scene.court.create(
                changed(case.old, "metadata.name", f"change-{number}"), dry=False
            )
        for case in NEW_KINDS:
            scene.others[case.new["kind"]] = await _store_what_is_denied(scene.court, kubectl, case.new)
        await stack.start(replicas=1)
        yield scene
    finally:
        await stack.stop()
        await api.delete(NAMESPACES, None, name)
        await transport.close()


async def _store_what_is_denied(court: Court, kubectl: Kubectl, obj: JsonObject) -> JsonObject:
    """Store an object of a kind that nothing reconciles yet, as an earlier version might have let it in."""
    rules = rules_for(obj["kind"])
    assert rules is not None
    crd = crds()[rules.plural]
    lenient = copy.deepcopy(crd)
    for version in lenient["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"].pop("x-kubernetes-validations")
    apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    await kubectl(*apply, stdin=json.dumps(lenient))
    await until(lambda: court.allows(obj))
    stored = await court.create(obj, dry=False)
    await kubectl(*apply, stdin=json.dumps(crd))
    other = changed(obj, "metadata.name", "other")
    await until(lambda: court.refuses(other))
    return stored


def says(faults: Sequence[Fault], causes: Sequence[StatusCause]) -> bool:
    """Whether the causes are the faults, no more and no less; the API server sorts the keys of values."""
    return len(faults) == len(causes) and all(
        (cause.field, cause.reason) == (fault.path, fault.reason) and cause.message.endswith(fault.message)
        for fault, cause in zip(faults, causes, strict=True)
    )


def by_another(case: Case, rules: str) -> bool:
    """Whether the API server itself denies this, so that no webhook is asked."""
    plural = case.rules.plural
    return (
        bool(check_schema(case.new, plural).faults)
        or any(fault.message.startswith(_CEL) for fault in case.judge().faults)
        or any(rule in _EARLIER for rule in rules.split("+"))
    )


async def check_denied(court: Court, case: Case, stored: JsonObject | None = None) -> None:
    """It is denied for its field by the layer that has to speak first, the webhook in the rule's words."""
    asked = court.create(case.new) if stored is None else court.update(case.new, stored)
    causes, by_webhook = await court.denial(asked)
    there = Case(changed(case.new, "metadata.namespace", court.namespace), stored)
    assert by_webhook is not by_another(there, case.speaks()), causes
    faults = there.judge().faults
    if by_webhook:
        assert says(faults, causes), (faults, causes)
    else:
        told = {_plain(cause.field) for cause in causes}
        meant = {_plain(fault.path) for fault in faults}
        assert any(one.startswith(other) or other.startswith(one) for one in told for other in meant), causes


def _plain(path: str) -> str:
    """A path as the schema writes it, where keys of a map have no brackets."""
    return path.replace("[", ".").replace("]", "").strip(".")


@pytest.mark.parametrize("case", CREATIONS, ids=Case.named)
async def test_rule(scene: Scene, case: Case) -> None:
    court = scene.court
    await check_denied(court, case)
    mended = case.mended()
    stored = await court.create(mended, dry=False)
    try:
        if not case.judge().faults[0].path.startswith("metadata."):
            await check_denied(court, case, stored)
        await court.update(changed(mended, "spec.paused", not mended["spec"].get("paused")), stored)
    finally:
        await court.delete(stored)


@pytest.mark.parametrize("number", range(len(CHANGES)), ids=lambda number: CHANGES[number].named())
async def test_rule_on_a_change(scene: Scene, number: int) -> None:
    case, stored = CHANGES[number], scene.changing[number]
    assert case.old is not None
    await check_denied(scene.court, case, stored)
    await scene.court.update(changed(case.old, "spec.paused", not case.old["spec"].get("paused")), stored)


@pytest.mark.parametrize("case", KINDS, ids=Case.named)
async def test_rule_on_a_kind_that_nothing_reconciles(scene: Scene, case: Case) -> None:
    stored = scene.others[case.new["kind"]]
    await check_denied(scene.court, case, stored)
    assert case.old is not None
    path = "spec.backupPolicy" if case.new["kind"] == "EtcdBackup" else "spec.gcs.path"
    good = {"maxBackups": 3} if case.new["kind"] == "EtcdBackup" else "bucket/other"
    await scene.court.update(changed(case.old, path, good), stored)


@pytest.mark.parametrize("case", NEW_KINDS, ids=Case.named)
async def test_rule_on_a_new_object_that_nothing_reconciles(scene: Scene, case: Case) -> None:
    await check_denied(scene.court, Case(changed(case.new, "metadata.name", "another")))


@pytest.mark.parametrize("case", SCALES, ids=Case.named)
async def test_rule_on_a_scale(scene: Scene, case: Case) -> None:
    court = scene.court
    stored = await court.create(cluster(size=3), dry=False)
    try:
        causes, _by_webhook = await court.denial(court.scale(stored, case.new["spec"]["replicas"]))
        assert any(_plain(cause.field) in {"spec.size", "spec.replicas"} for cause in causes)
        assert (await court.scale(stored, 5))["spec"]["replicas"] == 5
    finally:
        await court.delete(stored)


@pytest.mark.parametrize("case", WARNED, ids=Case.named)
async def test_rule_that_warns(scene: Scene, kubectl: Kubectl, case: Case) -> None:
    obj = changed(case.new, "metadata.namespace", scene.court.namespace)
    told = await kubectl.warnings("create", "--dry-run=server", "-f", "-", stdin=json.dumps(obj))
    assert set(case.judge().warnings) <= set(told)


_ALLOWED = [
    obj
    for some in (
        test_rules.ALLOWED,
        test_pod_rules.ALLOWED,
        test_workload_rules.ALLOWED,
        test_service_rules.ALLOWED_ONES,
    )
    for obj in some
    if Case(obj).judge().allowed
]


async def test_what_the_rules_let_pass_is_stored_and_may_be_written_again(scene: Scene) -> None:
    for obj in _ALLOWED:
        stored = await scene.court.create(obj, dry=False)
        await scene.court.update(changed(obj, "spec.paused", not obj["spec"].get("paused")), stored)
        await scene.court.delete(stored)


@pytest.mark.parametrize("key", CREATED)
async def test_default(scene: Scene, key: str) -> None:
    other: dict[str, Any] = {
        "size": 5,
        "repository": "registry.example/etcd",
        "version": "3.5.35",
        "paused": True,
        "podDisruptionBudget": False,
        "dataRetention": "Retain",
        "recovery": {"memberReplaceAfterSeconds": 600, "quorumLoss": "ForceNewCluster"},
    }
    for absent in (cluster(), changed(cluster(), f"spec.{key}", None)):
        assert (await scene.court.create(absent))["spec"][key] == CREATED[key]
    given = changed(cluster(), f"spec.{key}", other[key])
    assert (await scene.court.create(given))["spec"][key] == other[key]


@pytest.mark.parametrize("key", CREATED)
async def test_default_on_update(scene: Scene, key: str) -> None:
    """Absent means what was stored where it is kept, and no default is written where it is not."""
    given = cluster(size=5, version="3.5.35")
    stored = await scene.court.create(given, dry=False)
    try:
        bare = cluster()
        updated = await scene.court.update(bare, stored)
        assert updated["spec"].get(key) == (stored["spec"][key] if key in KEPT else None)
    finally:
        await scene.court.delete(stored)


async def test_a_generated_name_is_judged_as_it_came_out(scene: Scene) -> None:
    long = {**cluster(size=3), "metadata": {"generateName": "a" * 48}}
    causes, by_webhook = await scene.court.denial(scene.court.create(long))
    assert by_webhook
    assert [cause.field for cause in causes] == ["metadata.name"]
    short = {**cluster(size=3), "metadata": {"generateName": "a" * 47}}
    assert len((await scene.court.create(short))["metadata"]["name"]) == 52
