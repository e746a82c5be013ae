"""Changes of the membership are sent by whoever leads for long enough, and to whom they were meant for."""

from pathlib import Path

import pytest

from app.act.membership import Membership
from app.etcd.errors import IdentityMismatch
from app.etcd.fake import FakeDialer, SimulatedCluster
from app.kube.errors import NotLeading
from app.plan.actions import AddMember, PromoteMember, Via
from app.plan.membership.changes import CALL_SECONDS

APP = Path(__file__).parents[3] / "app"
CHANGES = "member_add"


class Setting:
    """A cluster of three that takes changes, and the leader to send them to."""

    def __init__(self) -> None:
        now = 0.0
        self.etcd = SimulatedCluster(lambda: now)
        self.ids = self.etcd.bootstrap(3)
        now = 60.0
        self.dialer = FakeDialer(self.etcd)
        self.remaining = 60.0
        self.membership = Membership(self.dialer, lambda: self.remaining)

    def add(self, *, cluster_id: int = 0, member_id: int = 0) -> AddMember:
        """An add by way of ``m0``, unless another one is meant."""
        via = Via("m0", cluster_id or self.ids.cluster_id, member_id or self.ids.member_ids["m0"])
        return AddMember("m9", "http://m9:2380", True, via)

    @property
    def size(self) -> int:
        return len(self.etcd.processes["m0"].held.state.members)


async def test_a_change_is_carried_out() -> None:
    setting = Setting()
    await setting.membership.send(setting.add())
    assert setting.size == 4


async def test_nothing_is_sent_when_the_lease_may_run_out_before_the_answer_comes() -> None:
    """Another one may lead by then, and has waited for no more than one deadline."""
    setting = Setting()
    setting.remaining = 2 * CALL_SECONDS

    with pytest.raises(NotLeading):
        await setting.membership.send(setting.add())

    assert setting.dialer.log == []
    setting.remaining += 0.1
    await setting.membership.send(setting.add())
    assert setting.size == 4


@pytest.mark.parametrize("other", [{"cluster_id": 1}, {"member_id": 1}])
async def test_nothing_is_sent_to_another_one_behind_a_reused_address(other: dict[str, int]) -> None:
    setting = Setting()

    with pytest.raises(IdentityMismatch):
        await setting.membership.send(setting.add(**other))

    assert setting.size == 3
    assert CHANGES not in [call for _, call in setting.dialer.log]


async def test_C9_a_learner_that_etcd_does_not_take_yet_is_no_failure_and_is_asked_for_again() -> None:
    setting = Setting()
    await setting.membership.send(setting.add())
    (learner,) = (one for one in setting.etcd.processes["m0"].held.state.members.values() if one.is_learner)
    promote = PromoteMember("m9", learner.id, setting.add().via)

    await setting.membership.send(promote)
    assert learner.id not in setting.etcd.processes["m0"].held.state.voters

    joining = {name: setting.etcd.processes[name].peer_url for name in ("m0", "m1", "m2")}
    process = setting.etcd.create("m9")
    setting.etcd.start("m9", cluster={**joining, "m9": process.peer_url}, state="existing")
    await setting.membership.send(promote)
    assert learner.id in setting.etcd.processes["m0"].held.state.voters


def test_X40_no_member_is_ever_updated() -> None:
    """An update of a learner made it a voter, before etcd 3.5.31 and 3.6.12 (etcd#21694)."""
    programs = [path for path in APP.rglob("*.py") if path.parent.name != "etcd" and "fake" not in path.parts]
    assert len(programs) > 50
    assert [path.name for path in programs if "member_update" in path.read_text()] == []
