"""Certificates of our own: the CA in a Secret, a serving certificate in memory, the bundle where it counts.

Every replica runs this, leader or not. Each round looks at the cluster as it is and does the one next thing
that is due: mend or create the Secret, take a step of the rotation, mint a certificate, write the bundle. A
round that wrote something is followed by another at once, which reads back what came of it; one with nothing
to do sleeps until something is due by the clock, or the Secret or a configuration changes.

A serving certificate is renewed from the CA in memory, so an API server that is away for a day takes
nothing from the webhooks.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from ssl import SSLContext
from typing import Final

from app.kube.backoff import Backoff
from app.kube.errors import AlreadyExists, Conflict, KubeError
from app.ops.logging import get_logger
from app.ops.metrics import Metrics
from certs import probe
from certs.access import Access, Configuration, StoredSecret
from certs.authority import Authority, Leaf, create_authority, issue_leaf
from certs.injector import inject, published, unpublished
from certs.rotation import Settings, State, Step, next_step, take, wake
from certs.serving import LiveContext
from certs.store import Reading, encode, read

_log = get_logger(__name__)

_AT_ONCE: Final = 0.0
_LONGEST_SLEEP: Final = 30.0
"""Seconds; should a watch fall silent, this is how long a change goes unseen."""


class ManagedCertificates:
    """Keeps CA, serving certificate and bundle, together with all other replicas."""

    def __init__(
        self,
        access: Access,
        *,
        names: tuple[str, ...],
        name: str,
        port: int,
        settings: Settings,
        metrics: Metrics,
        clock: Callable[[], datetime],
    ) -> None:
        """Certify `names`; `name` is the one the API server expects, `port` where the server listens."""
        self.loaded = asyncio.Event()
        self._access = access
        self._names = names
        self._name = name
        self._port = port
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._live = LiveContext()
        self._changed = asyncio.Event()
        self._backoff = Backoff(base=0.5, cap=_LONGEST_SLEEP)
        self._seen: StoredSecret | None = None
        self._reading: Reading | None = None
        self._state: State | None = None
        self._leaf: Leaf | None = None
        self._configurations: tuple[Configuration, ...] = ()
        self._trouble = "The CA is not loaded yet"

    @property
    def ssl_context(self) -> SSLContext:
        """The context to serve with, for the life of the process."""
        return self._live.ssl_context

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._access.follow(self._changed.set), name="watches of the certificates")
            group.create_task(self._work(), name="certificates")

    async def check(self) -> str | None:
        """Why the API server can't call the webhooks, or None: its bundles must verify what is served."""
        if self._leaf is None:
            return self._trouble
        missing = unpublished(self._configurations)
        if missing is not None:
            return missing
        bundles = {bundle for found in self._configurations for bundle in found.bundles.values()}
        for bundle in bundles:
            failure = await probe.handshake(port=self._port, name=self._name, bundle=bundle)
            if failure is not None:
                return failure
        return None

    async def _work(self) -> None:
        while True:
            self._changed.clear()
            try:
                pause = await self._round()
                self._backoff.reset()
            except (AlreadyExists, Conflict):
                pause = self._backoff.next() / 10
            except KubeError as error:
                pause = self._backoff.next(at_least=error.retry_after)
                self._failed(error)
                self._mint()
            try:
                async with asyncio.timeout(pause):
                    await self._changed.wait()
            except TimeoutError:
                pass

    async def _round(self) -> float:
        """Do what is next; returns the seconds until there may be more to do. Raises ``KubeError``."""
        now = self._clock()
        # In this order: see the injector.
        self._configurations = await self._access.configurations()
        stored = await self._access.secret()
        reading = self._read(stored, now=now)
        state = reading.state
        if not reading.whole:
            await self._write(state, None if stored is None else stored.version)
            _log.info("Created the CA" if stored is None else "Mended the CA Secret")
            return _AT_ONCE
        if stored is not None and await self._step(reading, stored.version, now=now):
            return _AT_ONCE
        self._state = state
        self._mint()
        if await inject(self._access, self._configurations, state.bundle):
            return _AT_ONCE
        return self._until_due(now)

    def _read(self, stored: StoredSecret | None, *, now: datetime) -> Reading:
        if stored is None or stored != self._seen or self._reading is None or not self._reading.whole:
            self._reading = read(
                {} if stored is None else stored.data,
                now=now,
                soak=self._settings.soak,
                fresh=self._fresh,
                remembered=self._state,
            )
            self._seen = stored
        return self._reading

    async def _step(self, reading: Reading, version: str, *, now: datetime) -> bool:
        state = reading.state
        known = published(self._configurations, state.bundle)
        step = next_step(state, now=now, published=known, settings=self._settings)
        if step is None or not (reading.writable or step is Step.REPLACE_EXPIRED):
            return False
        await self._write(take(step, state, now=now, settings=self._settings, fresh=self._fresh), version)
        _log.info("Took a step of the CA's rotation", step=step.name.lower())
        return True

    async def _write(self, state: State, version: str | None) -> None:
        if version is None:
            await self._access.create_secret(encode(state))
        else:
            await self._access.update_secret(encode(state), version=version)

    def _mint(self) -> None:
        """Make and serve a new certificate if the one served is not what it should be any more."""
        state, now = self._state, self._clock()
        if state is None or now >= state.active.not_after:
            return
        if self._leaf is not None and not self._stale(self._leaf, state, now):
            return
        leaf = issue_leaf(state.active, names=self._names, now=now, lifetime=self._settings.leaf_lifetime)
        self._live.load(leaf.pem, leaf.key_pem)
        self._leaf = leaf
        self.loaded.set()
        self._metrics.certificate_expiry.labels("serving").set(leaf.not_after.timestamp())
        self._metrics.certificate_expiry.labels("ca").set(state.active.not_after.timestamp())
        _log.info("Minted a serving certificate", expires=leaf.not_after.isoformat())

    def _stale(self, leaf: Leaf, state: State, now: datetime) -> bool:
        if leaf.names != self._names or now >= leaf.renewal() or not state.trusts(leaf.issuer):
            return True
        return leaf.issuer != state.active.fingerprint and now >= state.since

    def _until_due(self, now: datetime) -> float:
        state, leaf = self._state, self._leaf
        times = [now + timedelta(seconds=_LONGEST_SLEEP)]
        if state is not None:
            times.append(wake(state, settings=self._settings))
            if state.since > now:
                times.append(state.since)
        if leaf is not None:
            times.append(leaf.renewal())
        return max((min(times) - now).total_seconds(), _AT_ONCE)

    def _failed(self, error: KubeError) -> None:
        self._metrics.certificate_errors.labels("kubernetes").inc()
        self._trouble = str(error)
        _log.warning("Failed to keep the webhook's certificates", why=error)

    def _fresh(self) -> Authority:
        return create_authority(
            name="etcd-operator-webhook-ca", now=self._clock(), lifetime=self._settings.ca_lifetime
        )
