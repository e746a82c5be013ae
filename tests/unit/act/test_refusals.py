"""What could not be grown is remembered for a while."""

from app.act.refusals import RETRY_SECONDS, Refusals


def test_F3_a_refusal_counts_for_its_size_and_for_a_while() -> None:
    now = [0.0]
    refusals = Refusals(clock=lambda: now[0])
    refusals.note("ns/c", "a", "2Gi", "no")

    assert refusals.of("ns/c", "2Gi") == {"a": "no"}
    assert refusals.of("ns/c", "3Gi") == {}
    assert refusals.of("ns/other", "2Gi") == {}

    now[0] = RETRY_SECONDS
    assert refusals.of("ns/c", "2Gi") == {}


def test_a_cluster_that_is_gone_is_forgotten() -> None:
    refusals = Refusals(clock=lambda: 0.0)
    refusals.note("ns/c", "a", "2Gi", "no")

    refusals.forget("ns/c")

    assert refusals.of("ns/c", "2Gi") == {}
