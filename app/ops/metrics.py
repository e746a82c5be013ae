"""The numbers the operator tells about itself.

The names are controller-runtime's, so that the dashboards people have for operators work here as well
(https://book.kubebuilder.io/reference/metrics-reference), and the archived etcd operator's own. There is one
``Metrics`` for a process, made by whoever starts it and handed down: nothing is registered by an import,
and two operators in one test process don't mix.

Labels have few possible values. A cluster's or an object's name is none of them, nor is an error's text.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

_QUEUE_BUCKETS = (0.000001, 0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000)
_RECONCILE_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """All of the operator's metrics, in a registry of their own."""

    def __init__(self, *, process: bool = False) -> None:
        """Make them; ``process`` adds those of the operating system's process and Python's collector."""
        # Without this each counter comes with a second series that says when it was made.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library left this one untyped
        self.registry = CollectorRegistry()
        if process:
            # Both add themselves to the registry.
            ProcessCollector(registry=self.registry)
            GCCollector(registry=self.registry)
        self._queue()
        self._reconcile()
        self._kube()
        self._webhook()
        self._etcd_operator()

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry, buckets=buckets)

    def _queue(self) -> None:
        self.queue_depth = self._gauge("workqueue_depth", "Keys that wait for a worker", "name")
        self.queue_adds = self._counter("workqueue_adds", "Keys that were queued", "name")
        self.queue_retries = self._counter("workqueue_retries", "Keys queued again after a failure", "name")
        self.queue_wait = self._histogram(
            "workqueue_queue_duration_seconds", "From queued to taken", "name", buckets=_QUEUE_BUCKETS
        )
        self.queue_work = self._histogram(
            "workqueue_work_duration_seconds", "From taken to done", "name", buckets=_QUEUE_BUCKETS
        )
        self.queue_unfinished = self._gauge(
            "workqueue_unfinished_work_seconds", "Sum of how long the keys in work have been there", "name"
        )
        self.queue_longest = self._gauge(
            "workqueue_longest_running_processor_seconds", "How long the oldest key is in work", "name"
        )

    def _reconcile(self) -> None:
        self.reconciles = self._counter(
            "controller_runtime_reconcile",
            "Reconciles, by result: success, requeue_after, error",
            "controller",
            "result",
        )
        self.reconcile_errors = self._counter(
            "controller_runtime_reconcile_errors", "Reconciles that failed", "controller"
        )
        self.reconcile_time = self._histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long reconciles took",
            "controller",
            buckets=_RECONCILE_BUCKETS,
        )
        self.active_workers = self._gauge(
            "controller_runtime_active_workers", "Workers that have a key", "controller"
        )
        self.max_workers = self._gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers there are", "controller"
        )

    def _kube(self) -> None:
        self.leader = self._gauge(
            "leader_election_master_status", "1 while this process holds the Lease", "name"
        )
        self.requests = self._counter(
            "rest_client_requests", "Requests to the API server, by HTTP status", "code", "method", "host"
        )
        self.watch_age = self._gauge(
            "watch_last_event_age_seconds", "Since a watch last brought a byte", "resource"
        )
        self.watch_restarts = self._counter(
            "watch_restarts", "Watches opened again, by why the last one ended", "resource", "cause"
        )
        self.relists = self._counter("watch_lists", "Full lists a cache was filled from", "resource")
        self.watch_events = self._counter("watch_events", "Events of watches", "resource", "type")
        self.undecodable = self._counter(
            "watch_undecodable_objects", "Objects that were skipped, as they don't fit their type", "resource"
        )
        self.cached = self._gauge("cache_objects", "Objects in a cache", "resource")
        self.task_restarts = self._counter("task_restarts", "Tasks that ended and were started again", "task")
        self.events_dropped = self._counter(
            "events_dropped", "Kubernetes Events that were not recorded, by why", "cause"
        )

    def _webhook(self) -> None:
        self.webhook_requests = self._counter(
            "controller_runtime_webhook_requests", "Admission requests, by HTTP status", "webhook", "code"
        )
        self.webhook_latency = self._histogram(
            "controller_runtime_webhook_latency_seconds",
            "How long admission requests took",
            "webhook",
            buckets=_LATENCY_BUCKETS,
        )
        self.webhook_in_flight = self._gauge(
            "controller_runtime_webhook_requests_in_flight", "Admission requests being answered", "webhook"
        )
        self.certificate_expiry = self._gauge(
            "certificate_expiry_seconds", "When a certificate ends, as seconds since 1970", "certificate"
        )
        self.certificate_errors = self._counter(
            "certificate_errors", "Failures to load, renew or publish a certificate", "task"
        )

    def _etcd_operator(self) -> None:
        # The archived operator's metrics by their exact names. Its counters don't end in "_total", which this
        # library adds to every Counter, so they are gauges that only grow; rate() works on them as before.
        # Its label with the cluster's name, and the one with an error's text, had no bound and are gone.
        # https://github.com/coreos/etcd-operator/blob/v0.9.4/pkg/cluster/metrics.go
        prefix = "etcd_operator_controller_clusters"
        self.clusters = self._gauge(prefix, "Clusters that are managed")
        self.clusters_created = self._gauge(f"{prefix}_created", "Clusters that were created")
        self.clusters_deleted = self._gauge(f"{prefix}_deleted", "Clusters that were deleted")
        self.clusters_modified = self._gauge(f"{prefix}_modified", "Clusters whose spec was changed")
        self.clusters_failed = self._gauge(f"{prefix}_failed", "Clusters that turned to Failed")
        self.clusters_of_others = self._gauge(
            f"{prefix}_claimed_by_another", "Clusters left alone, since another operator acts on them"
        )
        self.cluster_reconcile_duration = self._histogram(
            "etcd_operator_cluster_reconcile_duration",
            "How long reconciles of clusters took, in seconds",
            buckets=tuple(0.1 * 2**n for n in range(10)),
        )
        self.cluster_reconcile_failed = self._gauge(
            "etcd_operator_cluster_reconcile_failed", "Reconciles of clusters that failed, by kind", "Reason"
        )
