"""Two operators on one cluster: the claim of one keeps the other off, for as long as its Lease is renewed."""

from datetime import UTC, datetime

import pytest

from app.api.status import Claim, ClusterStatus, Journal
from app.controllers.claims import Claims
from app.controllers.stopwatch import Stopwatch
from app.kube.events import Reference
from app.ops.metrics import Metrics
from app.plan.claiming import Claimant

ABOUT = Reference(api_version="v", kind="EtcdCluster", namespace="ns", name="c", uid="u")
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
THEIRS = Claim(holder="other/lease", identity="them", heartbeat="2026-01-01T00:00:00Z", duration_seconds=60)


class Elsewhere:
    """The other operator's Lease as it is read."""

    def __init__(self) -> None:
        self.seen: str | None = "them@1"

    async def renewal(self, holder: str) -> str | None:
        assert holder == THEIRS.holder
        return self.seen


class Told:
    """The events that were emitted."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def emit(self, about: Reference, _type: str, reason: str, _action: str, _note: str) -> None:
        assert about is ABOUT
        self.reasons.append(reason)


class World:
    """One operator's claims, on a clock of the test's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.elsewhere = Elsewhere()
        self.told = Told()
        self.metrics = Metrics()
        monkeypatch.setattr("app.controllers.claims.Stopwatch", lambda: Stopwatch(clock=lambda: self.now))
        self.claims = Claims(
            Claimant("ns/lease", "me", 60),
            self.elsewhere,  # type: ignore[arg-type]
            self.told,  # type: ignore[arg-type]
            metrics=self.metrics,
            now=lambda: NOW,
        )

    async def holder(self, claim: Claim | None) -> str:
        """Whose claim is written when the status has this one; empty where nothing is."""
        status = ClusterStatus(journal=Journal(claim=claim))
        claimed = await self.claims.claimed("ns/c", ABOUT, status)
        if claimed is None:
            return ""
        assert claimed.journal.claim is not None
        return claimed.journal.claim.holder

    def others(self) -> float:
        return self.metrics.clusters_of_others._value.get()  # type: ignore[no-any-return]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


async def test_a_cluster_of_nobodys_is_claimed_and_the_claim_is_not_written_again(world: World) -> None:
    claimed = await world.claims.claimed("ns/c", ABOUT, ClusterStatus())
    assert claimed is not None
    claim = claimed.journal.claim
    assert claim == Claim(
        holder="ns/lease", identity="me", heartbeat="2026-01-02T03:04:05Z", duration_seconds=60
    )
    again = await world.claims.claimed("ns/c", ABOUT, claimed)
    assert again == claimed


async def test_a_live_claim_of_another_is_respected_and_told_once(world: World) -> None:
    for number in range(20):
        world.elsewhere.seen = f"them@{number}"
        assert await world.holder(THEIRS) == ""
        world.now += 30.0
    assert world.told.reasons == ["ClaimedByAnother"]
    assert world.others() == 1


async def test_a_claim_whose_lease_is_not_renewed_for_its_duration_is_taken_over(world: World) -> None:
    assert await world.holder(THEIRS) == ""
    world.now = 59.9
    assert await world.holder(THEIRS) == ""
    world.now = 60.0
    assert await world.holder(THEIRS) == "ns/lease"
    assert world.others() == 0


async def test_a_claim_that_was_made_anew_is_timed_anew(world: World) -> None:
    assert await world.holder(THEIRS) == ""
    world.now = 60.0
    assert await world.holder(THEIRS.model_copy(update={"heartbeat": "later"})) == ""


async def test_a_lease_that_may_not_be_read_is_not_dead(world: World) -> None:
    world.elsewhere.seen = None
    assert await world.holder(THEIRS) == ""
    world.now = 1e6
    assert await world.holder(THEIRS) == ""
    world.elsewhere.seen = ""
    assert await world.holder(THEIRS) == ""
    world.now += 60.0
    assert await world.holder(THEIRS) == "ns/lease"


async def test_a_new_term_times_from_its_own_first_look(world: World) -> None:
    assert await world.holder(THEIRS) == ""
    world.now = 60.0
    world.claims.restart()
    assert await world.holder(THEIRS) == ""


async def test_our_claim_is_given_up_and_no_other(world: World) -> None:
    ours = await world.claims.claimed("ns/c", ABOUT, ClusterStatus())
    assert ours is not None
    released = world.claims.released(ours)
    assert released is not None
    assert released.journal.claim is None
    assert world.claims.released(released) is None
    assert world.claims.released(ClusterStatus(journal=Journal(claim=THEIRS))) is None
