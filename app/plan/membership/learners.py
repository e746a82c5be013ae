"""How long a learner is waited for."""

from app.api.cluster import ClusterSpec
from app.plan.losses import persistent
from app.plan.observed import Answer, Observed
from app.plan.symptoms import joining, leaving

LEARNER_SECONDS = 300.0
"""How long a learner may take at least before it is given up, beyond what its data takes.

Longer where the spec is more patient with voters.
"""

LEAVING_SECONDS = 60.0
"""How long the Pod of a learner may take to go before another one takes its place: twice what it is given."""

COPY_BYTES_PER_SECOND = 5_000_000
"""The slowest copying to a learner that is waited for (100 MB took 0.5 to 6 s on two cores)."""


def hopeless(observed: Observed, spec: ClusterSpec, learner: str, leader: Answer) -> str:
    """Why a learner is given up; empty for one that is waited for.

    A Pod that goes takes an emptyDir along. On a claim it may never be gone: where the node that it was bound
    to is cut off, no kubelet says that it has ended.
    """
    pod = observed.pods.get(learner)
    going = pod is not None and pod.terminating
    if going and (not persistent(spec) or observed.ages.get(leaving(learner), 0.0) >= LEAVING_SECONDS):
        return f"the Pod of {learner} goes before it was in sync; another member takes its place"
    budget = max(LEARNER_SECONDS, spec.replace_after) + leader.db_size / COPY_BYTES_PER_SECOND
    if observed.ages.get(joining(learner), 0.0) >= budget:
        return f"{learner} did not get in sync within {budget:.0f} s and is given up"
    return ""
