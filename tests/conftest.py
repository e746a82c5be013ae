"""Fixtures for all tests."""

import asyncio

from hypothesis import settings

from tests.cluster.fixtures import (
    cluster,
    control_plane,
    namespace,
    operator_reference,
    pytest_collection_finish,
)

__all__ = ["cluster", "control_plane", "namespace", "operator_reference", "pytest_collection_finish"]

# looptime asks for the current loop in tests without one as well, and asyncio would make one that nobody
# closes: the first test that gets a loop would fail with the warning about it. Having been told that there is
# none, asyncio makes none.
asyncio.set_event_loop(None)

# A run is as the one before: what a search finds in one is found again in the next.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
