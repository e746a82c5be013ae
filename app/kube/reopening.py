"""How long to wait before a watch is opened again: by how it ended, and by what came before."""

from app.kube.backoff import Backoff
from app.kube.errors import Expired, KubeError, NotFound

HEALTHY_SECONDS = 120.0
"""After a watch has lived that long, earlier failures count no more."""

SETTLED_SECONDS = 10.0
"""A watch that lived that long and then breaks is opened again soon, whatever failed before: something in
between that cuts connections each minute must not cost half a minute of blindness each time."""

SHORT_SECONDS = 1.0
"""A watch that ends sooner is a failure, however it ended: to open the next at once would be a busy loop."""

EXPIRED_CAP_SECONDS = 5.0
"""The longest wait after 410 Gone: the server is well, and each second until the list is one of blindness."""

ABSENT_CAP_SECONDS = 1.0
"""The longest wait after 404: a resource that isn't served yet is on its way, and asking costs little."""


class Reopening:
    """The waits of one watch; all times in seconds."""

    def __init__(self, *, base: float, cap: float) -> None:
        """Wait ``base`` after a failure, doubled with each further one up to ``cap``."""
        self._base = base
        self._failed = Backoff(base=base, cap=cap)
        self._expired = Backoff(base=base, cap=min(cap, EXPIRED_CAP_SECONDS))
        self._absent = Backoff(base=min(base, ABSENT_CAP_SECONDS / 2), cap=min(cap, ABSENT_CAP_SECONDS))
        self._expired_before = False

    def wait(self, error: KubeError | None, *, lived: float) -> float:
        """Tell the wait after a watch that lived so long and ended with ``error``; None is a normal end."""
        if lived >= HEALTHY_SECONDS:
            self._failed.reset()
        if error is None:
            return self._failed.next() if lived < SHORT_SECONDS else 0.0
        if isinstance(error, Expired):
            return max(self._after_expired(lived), error.retry_after)
        if isinstance(error, NotFound):
            return self._absent.next(at_least=error.retry_after)
        if lived >= SETTLED_SECONDS:
            return max(self._base, error.retry_after)
        return self._failed.next(at_least=error.retry_after)

    def _after_expired(self, lived: float) -> float:
        """List anew at once, unless that has just been done."""
        again, self._expired_before = self._expired_before and lived < SETTLED_SECONDS, True
        if again:
            return self._expired.next()
        self._expired.reset()
        return 0.0
