"""A short run of what `make chaos` does for as long as one likes."""

import pytest

from bench.chaos.run import run
from tests.e2e.installation import Installation
from tests.e2e.subject import Subject

pytestmark = pytest.mark.e2e

SEED = 471
SECONDS = 30


@pytest.mark.timeout(600)
def test_X21_X22_random_faults_lose_no_acknowledged_write(operator: Installation, subject: Subject) -> None:
    report = run(subject, operator, seed=SEED, seconds=SECONDS)
    print(report.summary())
    assert not report.failures
