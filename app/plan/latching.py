"""The latch: the durable fact that a cluster has served, and who of its members has.

It is written as soon as a quorum of the founders serves under the id that was computed beforehand. Then
their Pods are turned to ``existing`` (see `app.plan.starting`), and only after that the Service for clients
is made: no write is acknowledged before a loss of data can be told from a founding.
"""

from collections.abc import Mapping

from app.api import names
from app.api.cluster import ClusterSpec
from app.api.status import Journal, Latch, LatchedMember
from app.etcd import identity
from app.plan.actions import Action, Annotate, EnsureService
from app.plan.observed import Answer, Observed
from app.plan.starting import ids, peer_urls, returning


def serving(observed: Observed, cluster_id: str) -> Mapping[str, Answer]:
    """The members that answer for this cluster and know a leader."""
    return {
        name: answer
        for name, answer in observed.answers.items()
        if answer.leader and identity.text(answer.cluster_id) == cluster_id
    }


def note(observed: Observed, spec: ClusterSpec, journal: Journal) -> Journal:
    """Note the members that serve, once a quorum of the founders does; whoever is noted once stays noted.

    A member on a claim is noted with the claim's uid, so not before the claim is seen.
    """
    record = journal.bootstrap
    if record is None:
        return journal
    persistent = spec.pod.persistent_volume_claim_spec is not None
    answers = {
        name: answer
        for name, answer in serving(observed, record.cluster_id).items()
        if name in record.members and (not persistent or name in observed.volumes)
    }
    if journal.latch is None and len(answers) < len(record.members) // 2 + 1:
        return journal
    before = journal.latch or Latch(cluster_id=record.cluster_id)
    fresh = {
        name: LatchedMember(
            id=identity.text(answer.member_id),
            pvc_uid=observed.volumes[name].uid if name in observed.volumes else "",
        )
        for name, answer in answers.items()
        if name not in before.members
    }
    if not fresh:
        return journal
    after = {
        "members": {**before.members, **fresh},
        "revision": max(before.revision, *(answer.revision for answer in answers.values())),
        "raft_index": max(before.raft_index, *(answer.raft_index for answer in answers.values())),
        "raft_term": max(before.raft_term, *(answer.raft_term for answer in answers.values())),
    }
    return journal.model_copy(update={"latch": before.model_copy(update=after)})


def settle(observed: Observed, spec: ClusterSpec, journal: Journal) -> tuple[tuple[Action, ...], ...]:
    """Turn the Pods of members that have served to ``existing``, then let clients in."""
    if journal.latch is None or journal.bootstrap is None:
        return ()
    urls = peer_urls(observed.cluster, spec, journal.bootstrap.members)
    marks: list[Action] = []
    for name in journal.latch.members:
        pod, volume = observed.pods.get(name), observed.volumes.get(name)
        if pod is not None and not pod.terminating:
            wanted = returning(name, urls, journal)
            if not wanted.items() <= pod.annotations.items():
                marks.append(Annotate("Pod", name, pod.uid, wanted))
        if volume is not None and not volume.terminating:
            known = ids(name, journal)
            if not known.items() <= volume.annotations.items():
                marks.append(Annotate("PersistentVolumeClaim", name, volume.uid, known))
    service = names.client_service(observed.cluster.name)
    return tuple(marks), ensure(observed, service, client=True)


def ensure(observed: Observed, service: str, *, client: bool) -> tuple[Action, ...]:
    """Ask for a Service that is missing, or that is not as it would be written."""
    if service in observed.services - observed.drifted:
        return ()
    return (EnsureService(service, client=client),)
