"""The latch: the durable fact that a cluster has served, and who of its members has.

It is written as soon as a quorum of the founders serves under the id that was computed beforehand. Then
their Pods are turned to ``existing`` (see `app.plan.starting`), and only after that the Service for clients
is made: no write is acknowledged before a loss of data can be told from a founding.
"""

from collections.abc import Callable, Mapping

from app.api.cluster import ClusterSpec
from app.api.status import Journal, Latch, LatchedMember
from app.etcd import identity
from app.etcd.model import quorum
from app.plan.actions import Action, Annotate, EnsureService, Label, SetRetention, TakeOver
from app.plan.gauges import gauge
from app.plan.losses import persistent
from app.plan.observed import Answer, ClusterRef, Observed, PodFacts
from app.plan.revision import REVISION, revision
from app.plan.roster import adopted, listed, roster, updated
from app.plan.starting import annotations, highest, ids


def serving(observed: Observed, cluster_id: str) -> Mapping[str, Answer]:
    """The members that answer for this cluster and know a leader."""
    return {
        name: answer
        for name, answer in observed.answers.items()
        if answer.leader and identity.text(answer.cluster_id) == cluster_id
    }


def note(observed: Observed, spec: ClusterSpec, journal: Journal) -> Journal:
    """Note who is listed and who serves; the first time once a quorum of the founders does.

    Whoever is noted as having served stays noted for as long as etcd lists it. A member on a claim is noted
    with the claim's uid, so not before the claim is seen.
    """
    record = journal.bootstrap
    if record is None:
        return journal
    answers = {
        name: answer
        for name, answer in serving(observed, record.cluster_id).items()
        if not persistent(spec) or name in observed.volumes
    }
    before = journal.latch
    if before is None:
        if sum(name in answers for name in record.members) < quorum(len(record.members)):
            return journal
        before = Latch(cluster_id=record.cluster_id)
    members = updated(observed, journal)
    noted = {name: known for name, known in before.members.items() if name in members}
    there = listed(observed)
    for name, answer in answers.items():
        own = identity.text(answer.member_id)
        if name in members and name not in noted:
            uid = observed.volumes[name].uid if name in observed.volumes else ""
            noted[name] = LatchedMember(id=own, pvc_uid=uid)
        elif name in noted and name in there and there[name].id == answer.member_id:
            # What etcd and the data agree on is so, whatever was noted (bitnami/charts#14731).
            noted[name] = noted[name].model_copy(update={"id": own})
    if not noted:
        return journal
    after = before.model_copy(
        update={"members": noted, "roster": members, **_highest(observed, before, answers)}
    )
    return journal if after == journal.latch else journal.model_copy(update={"latch": after})


def _highest(observed: Observed, before: Latch, answers: Mapping[str, Answer]) -> dict[str, int]:
    """The highest numbers that were seen, which must never go back; they follow as gauges do."""
    said = answers.values()
    # A latch that was read off the children knows no number yet: it would let any regression through.
    due = observed.gauges_due or not before.members or not before.revision

    def most(number: Callable[[Answer | Latch], int]) -> int:
        known = number(before)
        return gauge(known, max([known, *map(number, said)]), due=due)

    return {
        "revision": most(lambda one: one.revision),
        "raft_index": most(lambda one: one.raft_index),
        "raft_term": most(lambda one: one.raft_term),
    }


def settle(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[tuple[Action, ...], ...]:
    """Bring what members read at their next start up to date, then let clients in.

    That turns a founder that has served to ``existing``, and gives one that is still joining the list as it
    is now: with an older one etcd exits with "member count is unequal".
    """
    if journal.latch is None:
        return ()
    marks: list[Action] = [Label(*one) for one in sorted(observed.stray)]
    if any(adopted(name, journal) for name in roster(journal)):
        marks += [TakeOver(name, uid) for _, name, uid in sorted(observed.ownerless)]
    for name in roster(journal):
        pod, volume = observed.pods.get(name), observed.volumes.get(name)
        if pod is not None and not pod.terminating:
            wanted = _marks(pod, observed.cluster, spec, journal)
            if not wanted.items() <= pod.annotations.items():
                marks.append(Annotate("Pod", name, pod.uid, wanted))
        if volume is not None and not volume.terminating:
            known = ids(name, journal) | highest(name, journal)
            if not known.items() <= volume.annotations.items():
                marks.append(Annotate("PersistentVolumeClaim", name, volume.uid, known))
            elif volume.retained is not spec.retains:
                version = volume.resource_version
                marks.append(SetRetention(name, volume.uid, version, retain=spec.retains))
    return tuple(marks), ensure(observed, spec.client_service(observed.cluster.name), client=True)


def _marks(pod: PodFacts, cluster: ClusterRef, spec: ClusterSpec, journal: Journal) -> dict[str, str]:
    """What a member's Pod is to carry."""
    wanted = annotations(pod.name, cluster, spec, journal)
    if not persistent(spec):
        wanted |= highest(pod.name, journal)
    if adopted(pod.name, journal) and not pod.revision:
        # As it runs it is what the spec asks for: no reason to make it anew.
        wanted[REVISION] = revision(spec)
    return wanted


def ensure(observed: Observed, service: str, *, client: bool) -> tuple[Action, ...]:
    """Ask for a Service that is missing, or that is not as it would be written."""
    if service in observed.services - observed.drifted:
        return ()
    return (EnsureService(service, client=client),)
