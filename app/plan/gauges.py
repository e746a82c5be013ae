"""Values that change all the time, as the status shows them.

Seldom, or a settled cluster would never be silent.
"""

SHARE = 0.1
"""A value in the status follows the real one when it is off by this share."""

SECONDS = 60.0
"""How often that happens at most."""


def gauge(before: int | None, value: int, *, due: bool) -> int:
    """What to show in place of ``before``; ``due`` says whether the last change is long enough ago."""
    if before is None:
        return value
    if due and abs(value - before) >= SHARE * max(before, 1):
        return value
    return before
