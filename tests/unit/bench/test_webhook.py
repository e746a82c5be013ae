import pytest

from bench.load import Load, parse
from bench.reviews import UID, review
from webhooks.review import review as answer
from webhooks.routes import VALIDATE, hooks

WRK = """\
Running 2s test @ https://127.0.0.1:9443/validate
  1 threads and 8 connections
{"requests":6000,"seconds":2.000000,"errors":0,"p50":1.250000,"p99":4.500000}
"""


def test_the_review_has_about_3_kb_and_is_allowed_by_our_rules() -> None:
    body = review()
    assert len(body) == pytest.approx(3000, rel=0.1)
    reply = answer(body, hooks()[VALIDATE])
    assert reply.status == 200
    assert b'"allowed":true' in reply.body
    assert UID.encode() in reply.body


def test_what_wrk_prints_is_read() -> None:
    found = parse(WRK)
    assert found == Load(requests=6000, seconds=2.0, errors=0, p50=1.25, p99=4.5)
    assert found.rate == 3000
