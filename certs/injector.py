"""The ``caBundle`` of the webhook configurations: kept equal to the CAs that are to be trusted.

The order of reading makes it safe for any number of replicas to do this at once. A configuration is read
first, the Secret after it; whoever wrote that configuration had written the Secret before, so the Secret that
is read is at least as new. A write names the version of the configuration that was read, and fails if there
is a newer one. So no replica can put an older bundle over a newer one.
"""

from collections.abc import Iterable

from app.ops.logging import get_logger
from certs.access import KINDS, Access, Configuration

_log = get_logger(__name__)


def published(configurations: Iterable[Configuration], bundle: bytes) -> bool:
    """Whether both configurations exist and each of their webhooks has exactly this bundle."""
    complete = {
        configuration.kind
        for configuration in configurations
        if configuration.bundles and all(found == bundle for found in configuration.bundles.values())
    }
    return complete.issuperset(KINDS)


async def inject(access: Access, configurations: Iterable[Configuration], bundle: bytes) -> bool:
    """Write the bundle wherever it differs; returns whether anything was written. Raises ``KubeError``."""
    written = False
    for configuration in configurations:
        if all(found == bundle for found in configuration.bundles.values()):
            continue
        await access.apply_bundle(configuration, bundle)
        _log.info(
            "Wrote the CA bundle", configuration=configuration.kind, certificates=bundle.count(b"BEGIN")
        )
        written = True
    return written


def unpublished(configurations: Iterable[Configuration]) -> str | None:
    """Why the API server can't call the webhooks yet, or None; the bundles themselves are not judged."""
    present = {configuration.kind: configuration for configuration in configurations}
    for kind in KINDS:
        if kind not in present:
            return f"The {kind} webhook configuration does not exist"
        if not present[kind].bundles:
            return f"The {kind} webhook configuration has no webhook that calls this operator"
    return None
