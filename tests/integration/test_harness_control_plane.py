"""A control plane without nodes: what integration tests run against."""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.controlplane import NAME as CONTROL_PLANE
from tests.cluster.waiting import wait_until

pytestmark = pytest.mark.integration


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"here")

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # the base class's name
        pass


@pytest.fixture
def server(control_plane: Cluster) -> Iterator[HTTPServer]:
    with HTTPServer((str(control_plane.addresses.host), 0), _Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def test_the_api_server_reaches_a_webhook_of_a_test_process(
    control_plane: Cluster, server: HTTPServer
) -> None:
    url = f"http://{control_plane.addresses.host}:{server.server_port}"
    fetch = f"import urllib.request as r; print(r.urlopen({url!r}, timeout=5).read().decode(), end='')"
    assert control_plane.machine(CONTROL_PLANE).network(sys.executable, "-c", fetch) == "here"


def test_the_garbage_collector_works(control_plane: Cluster, namespace: str) -> None:
    assert control_plane.nodes == ()
    for name in ("owner", "owned"):
        control_plane.kubectl("create", "configmap", name, "-n", namespace)
    uid = control_plane.kubectl(
        "get", "configmap", "owner", "-n", namespace, "--output=jsonpath={.metadata.uid}"
    )
    reference = f'{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{uid}"}}'
    patch = f'{{"metadata":{{"ownerReferences":[{reference}]}}}}'
    control_plane.kubectl("patch", "configmap", "owned", "-n", namespace, f"--patch={patch}")
    control_plane.kubectl("delete", "configmap", "owner", "-n", namespace)

    def left() -> str:
        return control_plane.kubectl("get", "configmap", "owned", "-n", namespace, "--ignore-not-found")

    wait_until(lambda: not left(), timeout=30, what="the collection of what the owner owned")
