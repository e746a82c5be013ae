"""What becomes of a cluster whose spec was never acceptable: nothing is founded, and the status says why."""

from datetime import datetime

from app.api.cluster import ClusterSpec
from app.api.status import ClusterStatus
from app.plan.news import news
from app.plan.observed import ClusterRef, Observed
from app.plan.status import describe
from app.plan.step import Plan, Step, Trouble


def refuse(cluster: ClusterRef, status: ClusterStatus, why: str, *, now: datetime) -> Plan:
    """Describe a cluster that waits for a spec that can be realised."""
    trouble = Trouble("SpecInvalid", why, stalled=True)
    after = describe(
        Observed(cluster, status), ClusterSpec(), Step(status.journal, troubles=(trouble,)), now=now
    )
    return Plan(after, events=news(status, after))
