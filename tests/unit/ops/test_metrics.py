"""The names that existing dashboards and alerts know."""

from prometheus_client import REGISTRY

from app.ops.metrics import Metrics

CONTROLLER_RUNTIME = {
    "workqueue_depth",
    "workqueue_adds",
    "workqueue_retries",
    "workqueue_queue_duration_seconds",
    "workqueue_work_duration_seconds",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "controller_runtime_reconcile",
    "controller_runtime_reconcile_errors",
    "controller_runtime_reconcile_time_seconds",
    "controller_runtime_active_workers",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_webhook_requests",
    "controller_runtime_webhook_latency_seconds",
    "leader_election_master_status",
    "rest_client_requests",
}

ARCHIVED_OPERATOR = {
    "etcd_operator_controller_clusters",
    "etcd_operator_controller_clusters_created",
    "etcd_operator_controller_clusters_deleted",
    "etcd_operator_controller_clusters_modified",
    "etcd_operator_controller_clusters_failed",
    "etcd_operator_cluster_reconcile_duration",
    "etcd_operator_cluster_reconcile_failed",
}


def test_known_names_are_there() -> None:
    names = {family.name for family in Metrics().registry.collect()}
    assert names >= CONTROLLER_RUNTIME | ARCHIVED_OPERATOR | {"watch_last_event_age_seconds"}


def test_two_sets_do_not_mix_and_touch_nothing_global() -> None:
    before = [family.name for family in REGISTRY.collect()]
    one, other = Metrics(), Metrics()
    one.clusters_created.inc()
    assert other.registry.get_sample_value("etcd_operator_controller_clusters_created") == 0
    assert [family.name for family in REGISTRY.collect()] == before
