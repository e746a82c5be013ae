"""The revision of a member.

A hash over what the user asked for, and nothing that others may edit on the Pod.
"""

import hashlib
import json

from app.api import versions
from app.api.base import GROUP
from app.api.cluster import ClusterSpec

REVISION = f"{GROUP}/revision"


def revision(spec: ClusterSpec) -> str:
    """Hash the parts of a spec that a member's Pod is made from (ten hexadecimal digits).

    Fields at their defaults are left out: a newer operator that knows more fields gets the same hash.
    """
    inputs = {
        "repository": spec.repository,
        "version": versions.bare(spec.version or ""),
        # A claim grows without its Pod being made anew.
        "pod": spec.pod.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude={"persistent_volume_claim_spec"}
        ),
        "tls": spec.tls.model_dump(mode="json", by_alias=True, exclude_defaults=True) if spec.tls else None,
    }
    if spec.image is not None:
        inputs["image"] = spec.image
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:10]
