"""Quantities of Kubernetes, exactly."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from app.api.quantities import parse_quantity


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1Gi", 1024**3),
        ("10240Mi", 10 * 1024**3),
        ("1.5Gi", 1536 * 1024**2),
        ("500m", Decimal("0.5")),
        ("1e3", 1000),
        ("1E", 10**18),
        ("1E2", 100),
        (".5", Decimal("0.5")),
        ("5.", 5),
        ("+2k", 2000),
        ("-1", -1),
        (7, 7),
        (0.5, Decimal("0.5")),
    ],
)
def test_read(text: Any, number: Any) -> None:
    assert parse_quantity(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Gi",
        "1 Gi",
        "1gi",
        "1KI",
        "1e",
        "1e999999999",
        "٣",
        "0x1",
        "1" * 100,
        True,
        None,
        [],
        {},
        float("nan"),
    ],
)
def test_refused(text: Any) -> None:
    assert parse_quantity(text) is None
