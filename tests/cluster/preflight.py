"""What a machine must have for a cluster to be possible, told in one line when it hasn't."""

import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.cluster import packages, programs
from tests.cluster.errors import HarnessError
from tests.cluster.node import require_network_plugins

_NAMESPACES = {"util-linux": "nsenter", "mount": "mount", "iproute2": "ip"}
_PACKET_FILTER = {"nftables": "nft"}


@cache
def check(nodes: int) -> Mapping[str, Path]:
    """Have everything that a cluster with so many nodes needs, and return its programs by name.

    What can be built or installed is.

    Raises:
        HarnessError: something is missing that we can't provide.

    """
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        raise HarnessError(
            "A test cluster needs Linux and root: try `sudo --preserve-env=PATH,HOME make …`, "
            "or use a cluster that you have: `make demo CONTEXT=…`"
        )
    if nodes == 0:
        packages.ensure_debian(_NAMESPACES)
        return programs.control_plane()
    packages.ensure_debian({**packages.CLUSTER, **_NAMESPACES, **_PACKET_FILTER})
    require_network_plugins()
    return programs.everything()
