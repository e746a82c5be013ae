"""The log: one line an event, a sentence and then what belongs to it as key=value, or JSON.

``log.info("Became the leader", lease=name)`` gives
``2026-01-31T12:00:00.000Z INFO  Became the leader  module=app.kube.lease lease=etcd-operator``. What holds
for all lines of a task, such as the key and the id of a reconcile, is bound with ``bound``.
"""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, TextIO

import msgspec
import structlog
from structlog.typing import FilteringBoundLogger, Processor

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

_NOTHING: dict[str, Any] = {}
_BOUND: ContextVar[dict[str, Any]] = ContextVar("bound", default=_NOTHING)
_LINE_BREAKS = str.maketrans({"\n": "\\n", "\r": "\\r"})


def get_logger(name: str) -> FilteringBoundLogger:
    """Return the logger of a module, named after it."""
    logger: FilteringBoundLogger = structlog.get_logger(module=name)
    return logger


@contextmanager
def bound(**values: Any) -> Iterator[None]:
    """Add ``values`` to each line that the current task, and those it starts, log within the block."""
    token = _BOUND.set({**_BOUND.get(), **values})
    try:
        yield
    finally:
        _BOUND.reset(token)


def add_bound(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Put what is bound after what the line says itself, always in the same order."""
    for key, value in _BOUND.get().items():
        event.setdefault(key, value)
    return event


def setup(*, style: Literal["text", "json"] = "text", level: str = "info", out: TextIO | None = None) -> None:
    """Set the log up for the process, the standard library's loggers included.

    ``level`` is one of ``LEVELS``; ``out`` is standard error by default.
    """
    number = LEVELS[level]
    stream = out or sys.stderr
    render: Processor = _json if style == "json" else _text
    shared: list[Processor] = [
        add_bound,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, render],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )
    handler = _Standard(shared, render, stream)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # The libraries' own lines are of interest when something is wrong only.
    root.setLevel(max(number, logging.WARNING))


class _Standard(logging.Handler):
    """Writes the lines of the standard library's loggers in the same form."""

    def __init__(self, shared: list[Processor], render: Processor, stream: TextIO) -> None:
        super().__init__()
        self._processors = [*shared, render]
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        event: Any = {"event": record.getMessage(), "module": record.name}
        if record.exc_info:
            event["exc_info"] = record.exc_info
        for processor in self._processors:
            event = processor(None, record.levelname.lower(), event)
        self._stream.write(event + "\n")
        self._stream.flush()


def _json(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    fields = {"time": event.pop("timestamp"), "level": event.pop("level"), "msg": event.pop("event")}
    return msgspec.json.encode({**fields, **event}, enc_hook=str).decode()


def _text(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    head = f"{event.pop('timestamp')} {event.pop('level').upper():<7} {event.pop('event')}"
    trace = event.pop("exception", None)
    pairs = " ".join(f"{key}={_quoted(value)}" for key, value in event.items())
    line = f"{head}  {pairs}".translate(_LINE_BREAKS)
    return f"{line}\n{trace}" if trace else line


def _quoted(value: Any) -> str:
    text = str(value)
    plain = text and not any(mark in text for mark in ' ="')
    return text if plain else msgspec.json.encode(text).decode()
