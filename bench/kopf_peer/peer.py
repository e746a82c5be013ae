"""The same work in kopf: the least that an author has to write, run by ``kopf run`` in its own environment.

A validating webhook with one rule, and a handler that writes a status when a cluster is new, edited, or found
at the start; all of them coroutines, since kopf runs functions in threads. Port and certificate come from the
environment.
"""

import logging
import os
from typing import Any

import kopf

RESOURCE = ("etcd.database.coreos.com", "v1beta2", "etcdclusters")


async def configure(settings: Any, **_: Any) -> None:
    """Serve the webhook with a given certificate; post no Events, as the handlers have nothing to tell."""
    folder = os.environ["WEBHOOK_CERT_DIR"]
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        host="127.0.0.1",
        port=int(os.environ["WEBHOOK_PORT"]),
        certfile=f"{folder}/tls.crt",
        pkeyfile=f"{folder}/tls.key",
    )
    settings.posting.level = logging.CRITICAL


async def validate(spec: Any, **_: Any) -> None:
    """Deny a size out of range."""
    size = spec.get("size", 3)
    if not 1 <= size <= 9:
        raise kopf.AdmissionError(f"spec.size must be from 1 to 9, not {size}")


async def pods_of(labels: Any, **_: Any) -> Any:
    """Keep Pods in memory by cluster, which lists and watches them."""
    return {labels["etcd_cluster"]: labels["etcd_node"]}


async def reconcile(name: str, meta: Any, patch: Any, pods_of: Any, **_: Any) -> None:
    """Write into the status what was seen."""
    patch.status["observedGeneration"] = meta["generation"]
    patch.status["size"] = len(pods_of.get(name, ()))


kopf.on.startup()(configure)
kopf.index("pods", labels={"app": "etcd"})(pods_of)
kopf.on.validate(*RESOURCE, id="validate")(validate)
for event in (kopf.on.create, kopf.on.update, kopf.on.resume):
    event(*RESOURCE, id="reconcile")(reconcile)
