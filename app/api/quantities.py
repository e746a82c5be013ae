"""Kubernetes quantities ("1Gi", "500m", 2), compared exactly and never rewritten.

The grammar is the one of ``resource.Quantity`` in k8s.io/apimachinery: a decimal number and a binary suffix
(Ki … Ei), a decimal one (n, u, m, k … E) or an exponent.
"""

import re
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any

_PATTERN = re.compile(
    r"([+-]?)(\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d{1,2}))?",
    re.ASCII,
)
_LONGEST = 64
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def parse_quantity(value: Any) -> Decimal | None:
    """Return a quantity as a number (bytes, cores), or ``None`` if it is not one."""
    if isinstance(value, str):
        return _parse(value) if len(value) <= _LONGEST else None
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(repr(value)) if isfinite(value) else None
    return None


@lru_cache(maxsize=1024)
def _parse(text: str) -> Decimal | None:
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    sign, digits, binary, decimal, exponent = match.groups()
    number = Decimal(f"{sign}{digits}")
    if binary:
        return number * _BINARY[binary]
    return number.scaleb(_DECIMAL[decimal] if decimal else int(exponent or 0))
