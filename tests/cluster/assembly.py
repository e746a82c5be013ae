"""Bringing a cluster up: what waits for what, everything else at once.

The API server takes the longest by far. While it starts, the nodes get their images and containerd; once it
is ready, controllers, kubelets and addons start together.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.cluster import addons, content, node
from tests.cluster.layout import Layout
from tests.cluster.node import Node
from tests.cluster.pki import Authority
from tests.cluster.waiting import wait_until


def assemble(layout: Layout, archives: Sequence[Path], pool: ThreadPoolExecutor) -> None:
    """Bring up all parts, with the images of these archives on each node, and return when they serve.

    Raises:
        HarnessError: something didn't start. Threads of the pool may still be at work then.

    """
    control_plane = layout.control_plane
    authority = Authority()
    layout.boot_switch()

    def start_control_plane() -> None:
        control_plane.prepare(authority)
        layout.boot(control_plane.machine, layout.addresses.control_plane)
        control_plane.start()
        control_plane.wait_ready()

    def start_node(one: Node, folder: "Future[Path]") -> None:
        one.prepare(authority)
        layout.boot(one.machine, one.address)
        content.share(folder.result(), one.machine.disk)
        one.start()

    serving = pool.submit(start_control_plane)
    starting = [serving]
    if layout.nodes:
        folder = pool.submit(content.prepared, archives, layout.group.child("unpacking"))
        starting += [pool.submit(start_node, one, folder) for one in layout.nodes]
    _finish(starting)

    control_plane.start_controllers()
    finishing = [pool.submit(_wait_service_account, layout)]
    if layout.nodes:
        control_plane.start_scheduler()
        for one in layout.nodes:
            one.join()
        # The API server calls webhooks by their Service's address. A kube-proxy looks up the Node it is on,
        # and here is none, so it takes that of the first.
        node.proxy(
            control_plane.machine, layout.nodes[0].name, layout.addresses, layout.programs["kube-proxy"]
        )
        finishing += [
            pool.submit(_start_addons, layout),
            pool.submit(layout.wait_nodes_ready, layout.nodes),
        ]
    _finish(finishing)


def _start_addons(layout: Layout) -> None:
    addons.start(layout.control_plane.machine, layout.addresses, layout.programs)


def _wait_service_account(layout: Layout) -> None:
    """Without it no Pod can be created in the namespace `default`."""
    path = "/api/v1/namespaces/default/serviceaccounts/default"

    def there() -> bool:
        layout.control_plane.machine.check("kube-controller-manager")
        return bool(layout.control_plane.get(path))

    wait_until(there, timeout=60, what="the controller manager")


def _finish(futures: "Sequence[Future[None]]") -> None:
    """Wait for all, or for the first that fails, which raises."""
    for future in as_completed(futures):
        future.result()
