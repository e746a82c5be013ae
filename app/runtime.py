"""The process: what is started, in which order, and how it ends.

Start: health and metrics, certificates, webhooks, caches, election; the leader installs the CRDs and works.
All but the last is done by every replica, so that a follower answers webhooks and takes over warm.

Stop, on SIGTERM or SIGINT: not ready any more; the workers are stopped and awaited, events flushed and the
Lease released, while webhooks are still answered as the endpoints drain; then connections are closed. A
second signal ends the process at once.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, NoReturn

from app.act.cluster import Actor
from app.act.crds import install
from app.act.membership import Membership
from app.act.own_image import OwnImage
from app.api.rules.service import client_service
from app.build.common import Platform
from app.config import Config, WebhookMode
from app.controllers.claims import Claims
from app.controllers.cluster import ClusterController, Hands
from app.errors import OperatorError
from app.etcd.client import Dialer
from app.etcd.pool import Pool
from app.kube.api import Api
from app.kube.backoff import Backoff
from app.kube.barrier import Barrier
from app.kube.client import connect
from app.kube.errors import KubeError
from app.kube.events import Recorder
from app.kube.lease import Elector, Timing, identity
from app.kube.queue import WorkQueue
from app.kube.transport import Transport
from app.kube.workers import Workers
from app.observe.caches import BY_NAMESPACE, make_caches
from app.observe.cluster import Observer
from app.observe.locks import Locks
from app.observe.pulse import Pulse
from app.ops import garbage
from app.ops.health import HealthServer
from app.ops.logging import get_logger, setup
from app.ops.metrics import Metrics
from app.ops.supervision import supervise
from app.ops.watchdog import Watchdog
from app.plan.claiming import DURATIONS, Claimant
from certs.certificates import Certificates, certificates
from webhooks.routes import hooks, rules_of
from webhooks.server import WebhookServer

log = get_logger(__name__)

CONTROLLER = "etcd.database.coreos.com/etcd-operator"
QUEUE = "etcdcluster"
READINESS_SECONDS = 1.0
FLUSH_SECONDS = 3.0


class Operator:
    """One replica."""

    def __init__(
        self, config: Config, transport: Transport, *, metrics: Metrics, dialer: Dialer | None = None
    ) -> None:
        """Speak to the API server through ``transport``, and to etcd through ``dialer`` (else over gRPC)."""
        self._config = config
        self._metrics = metrics
        self._api = Api(transport)
        self._caches = make_caches(self._api, namespace=config.watched_namespace, metrics=metrics)
        self._webhook_trouble = "the certificate is not loaded yet"
        checks = {"caches": self._unsynced}
        self._certificates: Certificates | None = None
        self._webhooks: WebhookServer | None = None
        if config.webhook.mode is not WebhookMode.OFF:
            self._certificates = certificates(self._api, config, metrics=metrics)
            self._webhooks = WebhookServer(
                hooks=hooks(rules_of(self._neighbours)),
                ssl_context=self._certificates.ssl_context,
                metrics=metrics,
                port=config.webhook.port,
            )
            checks["webhook"] = lambda: self._webhook_trouble
        self.health = HealthServer(
            host=config.listen_host, port=config.listen_port, checks=checks, metrics=metrics
        )
        lease = config.lease
        name = identity()
        self._me = Claimant(f"{config.namespace}/{lease.name}", name, round(DURATIONS * lease.duration))
        self.elector = Elector(
            self._api,
            namespace=config.namespace,
            name=lease.name,
            identity=name,
            timing=Timing(lease.duration, lease.renew_deadline, lease.retry_period),
            metrics=metrics,
        )
        self._recorder = Recorder(self._api, controller=CONTROLLER, instance=config.pod_name, metrics=metrics)
        self._pool = Pool()
        self._dialer = dialer or self._pool
        self._queue = WorkQueue(QUEUE, metrics=metrics)
        self._barrier = Barrier()
        self._controller = self._make_controller()
        self._controller.subscribe()
        self._workers = Workers(
            self._queue,
            self._controller.reconcile,
            controller=QUEUE,
            number=config.workers,
            metrics=metrics,
            barrier=self._barrier,
        )

    def _make_controller(self) -> ClusterController:
        fenced = self._api.fenced(self.elector.remaining)
        return ClusterController(
            self._caches,
            self._queue,
            Hands(
                observer=Observer(self._api, self._caches, self._dialer, home=self._config.namespace),
                pulse=Pulse(),
                actor=Actor(
                    fenced,
                    self._caches,
                    self._barrier,
                    Platform(self._config.default_run_as_user),
                    Membership(self._dialer, self.elector.remaining),
                    OwnImage(
                        self._api,
                        namespace=self._config.namespace,
                        pod=self._config.pod_name,
                        image=self._config.operator_image,
                    ),
                ),
                recorder=self._recorder,
                claims=Claims(
                    self._me,
                    Locks(self._api),
                    self._recorder,
                    metrics=self._metrics,
                    now=lambda: datetime.now(UTC),
                ),
            ),
            scope=self._config.scope,
            metrics=self._metrics,
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Run until ``stop`` is set. Raises what ended a part that keeps dying."""
        await self.health.start()
        background = asyncio.create_task(self._background(), name="background")
        election = asyncio.create_task(self.elector.run(self._lead), name="election")
        stopping = asyncio.create_task(stop.wait(), name="stop")
        tasks = {background, election, stopping}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            log.info("Stops", signalled=stopping.done())
        finally:
            self.health.draining = True
            if self._webhooks is not None:
                self._webhooks.drain()
            drain = asyncio.create_task(self._drain(), name="drain")
            await _end(election)
            await drain
            await _end(stopping)
            await _end(background)
            await self._pool.close()
            await self.health.stop()
        for task in (background, election):
            if not task.cancelled():
                await task

    async def _drain(self) -> None:
        """Answer webhooks until no API server sends any more: endpoints take a while to be taken out."""
        if self._webhooks is None:
            return
        await asyncio.sleep(self._config.drain_seconds)
        await self._webhooks.stop()

    async def _background(self) -> NoReturn:
        """What every replica does, leader or not."""
        async with asyncio.TaskGroup() as group:
            for informer in self._caches.all:
                name = f"watch of {informer.resource.plural}"
                group.create_task(supervise(name, informer.run, metrics=self._metrics), name=name)
            if self._certificates is not None and self._webhooks is not None:
                run = self._certificates.run
                group.create_task(supervise("certificates", run, metrics=self._metrics), name="certificates")
                group.create_task(self._serve(self._certificates, self._webhooks), name="webhooks")
        raise AssertionError("Supervised tasks don't end")

    async def _serve(self, source: Certificates, server: WebhookServer) -> NoReturn:
        """Start the webhooks once there is a certificate, then keep asking whether they can be reached."""
        await source.loaded.wait()
        await server.start()
        log.info("Serves webhooks", port=server.port)
        while True:
            self._webhook_trouble = await source.check() or ""
            await asyncio.sleep(READINESS_SECONDS)

    def _neighbours(self, namespace: str) -> dict[str, str]:
        """The client Services of a namespace's EtcdClusters by their names, as far as the cache knows."""
        known = self._caches.clusters.store.by_index(BY_NAMESPACE, namespace)
        return {one.metadata.name: client_service(one.metadata.name, one.spec) for one in known}

    def _unsynced(self) -> str:
        missing = [one.resource.plural for one in self._caches.all if not one.synced.is_set()]
        return f"not synced: {', '.join(missing)}" if missing else ""

    async def _lead(self) -> None:
        """What only the leader does."""
        if self._config.create_crd:
            await self._install()
        for informer in self._caches.all:
            await informer.synced.wait()
        self._controller.lead()
        log.info("Reconciles", clusters=len(self._caches.clusters.store))
        try:
            async with asyncio.TaskGroup() as group:
                events = supervise("events", self._recorder.run, metrics=self._metrics)
                group.create_task(events, name="events")
                group.create_task(self._workers.run(), name="workers")
        finally:
            await self._recorder.flush(deadline=FLUSH_SECONDS)

    async def _install(self) -> None:
        backoff = Backoff(base=0.5, cap=30.0)
        while True:
            try:
                await install(self._api)
            except (KubeError, OperatorError) as error:
                wait = backoff.next()
                log.warning("Could not install the CustomResourceDefinitions", error=error, seconds=wait)
                await asyncio.sleep(wait)
            else:
                return


async def _end(task: Awaitable[object]) -> None:
    """Cancel a task and wait until it has ended, however it ends; its outcome is looked at later."""
    future = asyncio.ensure_future(task)
    future.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.wait([future])


def _listen_to_signals(stop: asyncio.Event) -> None:
    def signalled(number: Literal[signal.Signals.SIGTERM, signal.Signals.SIGINT]) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, signalled, signal.SIGTERM)
    loop.add_signal_handler(signal.SIGINT, signalled, signal.SIGINT)


async def run(config: Config) -> int:
    """Run the operator; returns the process's exit status."""
    setup(style=config.log_format, level=config.log_level)
    garbage.settle()
    for warning in config.warnings:
        log.warning(warning)
    stop = asyncio.Event()
    _listen_to_signals(stop)
    metrics = Metrics(process=True)
    transport = await connect(str(config.kubeconfig or ""), metrics=metrics)
    log.info("Starts", namespace=config.namespace, scope=config.scope, webhook=config.webhook.mode)
    status = 0
    try:
        async with Watchdog():
            await Operator(config, transport, metrics=metrics).run(stop)
    except* OperatorError:
        log.exception("A part of the operator keeps failing")
        status = 1
    finally:
        await transport.close()
    log.info("Ended", status=status)
    return status
