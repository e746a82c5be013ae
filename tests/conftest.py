"""Fixtures for all tests."""

from tests.cluster.fixtures import (
    cluster,
    control_plane,
    namespace,
    operator_reference,
    pytest_collection_finish,
)

__all__ = ["cluster", "control_plane", "namespace", "operator_reference", "pytest_collection_finish"]
