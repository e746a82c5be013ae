"""Names of a cluster's objects, members and addresses.

A member is called ``<cluster>-<10 of a-z0-9>``, as are its Pod, its PersistentVolumeClaim and its host. The
ten characters are derived from the cluster's uid and an index, so that a bootstrap interrupted anywhere finds
its own names again, while a cluster made anew under the same name has others.
"""

import hashlib
import re

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
SUFFIX_LENGTH = 10
MAX_CLUSTER_NAME = 63 - 1 - SUFFIX_LENGTH
"""A Pod's name is its host name, a DNS label of at most 63 characters."""

PEER_PORT = 2380
CLIENT_PORT = 2379
METRICS_PORT = 2381

_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NOT_IN_LABEL = re.compile(r"[^a-z0-9]+")


def member_name(cluster: str, seed: str, index: int) -> str:
    """Return the name of a cluster's ``index``-th member; ``seed`` is the cluster's uid."""
    number = int.from_bytes(hashlib.sha256(f"{seed}/{index}".encode()).digest(), "big")
    suffix = ""
    for _ in range(SUFFIX_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        suffix += _ALPHABET[digit]
    return f"{cluster}-{suffix}"


def peer_service(cluster: str) -> str:
    """Return the name of the headless Service that gives members their host names."""
    return cluster


def client_service(cluster: str) -> str:
    """Return the name of the Service for clients."""
    return f"{cluster}-client"


def domain_suffix(domain: str | None) -> str:
    """Return a cluster domain with one leading dot, or nothing; dots around it do not count."""
    bare = (domain or "").strip(".")
    return f".{bare}" if bare else ""


def member_host(member: str, *, cluster: str, namespace: str, domain: str | None = None) -> str:
    """Return a member's host name; ``domain`` is ``spec.pod.ClusterDomain``."""
    return f"{member}.{peer_service(cluster)}.{namespace}.svc{domain_suffix(domain)}"


def peer_url(
    member: str, *, cluster: str, namespace: str, domain: str | None = None, tls: bool = False
) -> str:
    """Return the URL that members know each other by."""
    return _url(member_host(member, cluster=cluster, namespace=namespace, domain=domain), PEER_PORT, tls=tls)


def client_url(
    member: str, *, cluster: str, namespace: str, domain: str | None = None, tls: bool = False
) -> str:
    """Return the URL that a member advertises to clients."""
    return _url(
        member_host(member, cluster=cluster, namespace=namespace, domain=domain), CLIENT_PORT, tls=tls
    )


def _url(host: str, port: int, *, tls: bool) -> str:
    return f"{'https' if tls else 'http'}://{host}:{port}"


def member_of_url(url: str) -> str:
    """Return the member that a peer URL of ours belongs to; empty if it is no such URL."""
    host = url.partition("://")[2]
    return host.partition(".")[0] if "." in host else ""


def is_label(text: str) -> bool:
    """Whether a text is a DNS-1035 label: what a Service may be called."""
    return len(text) <= 63 and _LABEL_1035.fullmatch(text) is not None


def nearest_cluster_name(text: str) -> str:
    """Return the valid cluster name that looks most like ``text``."""
    name = _NOT_IN_LABEL.sub("-", text.lower()).lstrip("-0123456789")[:MAX_CLUSTER_NAME].rstrip("-")
    return name or "etcd"


def subdomain_fault(text: str) -> str | None:
    """Return why a text is no DNS-1123 subdomain, which most objects are named by; ``None`` if it is one."""
    if len(text) > 253:
        return "must be at most 253 characters"
    if _SUBDOMAIN.fullmatch(text) is None:
        return "must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.', as in my-name.example"
    return None
