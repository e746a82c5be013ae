"""The ids that etcd gives to a cluster and to its first members, computed beforehand.

A static bootstrap has no randomness: a member's id is a hash of its peer URLs and the cluster's token, and
the cluster's id is a hash of the ids of its first members. So the operator can say which cluster must come
out of a bootstrap before it starts one, and never mistakes another for it. A member that is added later gets
an id that also depends on the second of its adding, and the cluster's id never changes again.

The rules are those of ``server/etcdserver/api/membership`` in etcd (``computeMemberID``, ``genID``), the same
from 3.4 to 3.7.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Identity:
    """What a static bootstrap of some members results in: the cluster's id, and each member's by its name."""

    cluster_id: int
    member_ids: Mapping[str, int]


def member_id(peer_urls: Iterable[str], *, token: str) -> int:
    """Return the id of a member of a static bootstrap with these peer URLs, under this cluster token."""
    return _first_64_bits(("".join(sorted(peer_urls)) + token).encode())


def cluster_id(member_ids: Iterable[int]) -> int:
    """Return the id of the cluster that these members found together."""
    return _first_64_bits(b"".join(value.to_bytes(8, "big") for value in sorted(member_ids)))


def bootstrap(peer_urls: Mapping[str, str], *, token: str) -> Identity:
    """Compute the identity of a cluster from the peer URL of each first member, by member name.

    Raises ValueError for no members, and for two with one peer URL, as etcd refuses them too.
    """
    if not peer_urls:
        raise ValueError("a cluster has at least one member")
    ids = {name: member_id((url,), token=token) for name, url in peer_urls.items()}
    if len(set(ids.values())) != len(ids):
        raise ValueError("two members have the same peer URL")
    return Identity(cluster_id(ids.values()), ids)


def text(value: int) -> str:
    """Write an id as etcd's logs and ``etcdctl`` do: hexadecimal, without leading zeros."""
    return f"{value:x}"


def parse(value: str) -> int:
    """Read an id as etcd's logs write it; raises ValueError for anything but 1 to 16 hexadecimal digits."""
    if not 1 <= len(value) <= 16 or not all(digit in "0123456789abcdefABCDEF" for digit in value):
        raise ValueError(f"not an etcd id: {value!r}")
    return int(value, 16)


def _first_64_bits(data: bytes) -> int:
    # SHA-1 is etcd's choice; it names, it does not protect.
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:8], "big")
