"""Conditions, as KEP-1623 defines them: a list with one entry per type.

``lastTransitionTime`` moves only when the status flips, ``lastUpdateTime`` (the old operator's) whenever
status, reason or message do. A condition that is set to what it already says comes back as the same object,
so that a settled cluster causes no write.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from app.api.status import Condition

Conditions = tuple[Condition, ...]


def timestamp(now: datetime) -> str:
    """Return an aware time as RFC 3339 in UTC, to the second.

    Raises ``ValueError`` for a time without a zone, which would be read as local.
    """
    if now.tzinfo is None:
        raise ValueError("a time without a zone")
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """Return the condition of a type."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    """Whether a condition is there and its status is True."""
    condition = find(conditions, type_)
    return condition is not None and condition.status == "True"


def set_condition(
    conditions: Conditions,
    type_: str,
    status: bool | None,
    *,
    reason: str,
    message: str = "",
    generation: int | None = None,
    now: datetime,
) -> Conditions:
    """Return the conditions with one of them set; ``status`` ``None`` is Unknown. Order and others stay."""
    word = "Unknown" if status is None else str(status)
    before = find(conditions, type_)
    if before is None:
        time = timestamp(now)
        added = Condition(
            type=type_,
            status=word,
            reason=reason,
            message=message,
            observed_generation=generation,
            last_transition_time=time,
            last_update_time=time,
        )
        return (*conditions, added)
    update: dict[str, object] = {}
    if (before.status, before.reason, before.message) != (word, reason, message):
        update = {"status": word, "reason": reason, "message": message, "last_update_time": timestamp(now)}
    if before.status != word or not before.last_transition_time:
        update["last_transition_time"] = timestamp(now)
    if before.observed_generation != generation:
        update["observed_generation"] = generation
    if not update:
        return conditions
    after = before.model_copy(update=update)
    return tuple(after if condition is before else condition for condition in conditions)


def remove_condition(conditions: Conditions, type_: str) -> Conditions:
    """Return the conditions without one type."""
    if find(conditions, type_) is None:
        return conditions
    return tuple(condition for condition in conditions if condition.type != type_)
