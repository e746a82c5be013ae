"""TLS between members and for clients.

The operator's certificate and the members' server certificate come together: with one of them alone the
operator cannot talk to the members (coreos/etcd-operator PR 2159 tells how its predecessor crashed on the
half).
"""

from typing import Any

from app.api.base import JsonObject
from app.api.names import subdomain_fault
from app.api.paths import lookup, object_at
from app.api.verdict import Report

PATH = "spec.TLS"
SOURCES = ("static", "operatorManaged", "certManager")
TLS_IS_FIXED = "TLS cannot be switched on or off on a cluster that exists; keep what it was"

_STATIC = f"{PATH}.static"
_SERVER = f"{_STATIC}.member.serverSecret"
_PEER = f"{_STATIC}.member.peerSecret"
_OPERATOR = f"{_STATIC}.operatorSecret"


def check_tls(spec: JsonObject, report: Report) -> None:
    """Check ``spec.TLS``."""
    tls = object_at(spec, "TLS", "spec", report)
    if tls is None:
        return
    sources = [source for source in SOURCES if tls.get(source) is not None]
    if len(sources) != 1:
        report.invalid(PATH, tls, f"must have exactly one of {', '.join(SOURCES)}")
    static = object_at(tls, "static", PATH, report)
    if static is not None:
        _check_static(static, report)


def _check_static(static: JsonObject, report: Report) -> None:
    member = object_at(static, "member", _STATIC, report) or {}
    peer, server, operator = (
        member.get("peerSecret"),
        member.get("serverSecret"),
        static.get("operatorSecret"),
    )
    for path, secret in ((_PEER, peer), (_SERVER, server), (_OPERATOR, operator)):
        _check_secret_name(path, secret, report)
    if operator and not server:
        report.required(_SERVER, "operatorSecret is set, and clients need the members' certificate")
    if server and not operator:
        report.required(_OPERATOR, "member.serverSecret is set, and the operator needs a client certificate")
    if not (peer or server or operator):
        report.required(_STATIC, "name member.peerSecret, or member.serverSecret and operatorSecret")


def _check_secret_name(path: str, secret: Any, report: Report) -> None:
    if secret is None or secret == "":
        return
    if not isinstance(secret, str):
        report.wrong_type(path, secret, "the name of a Secret")
    elif fault := subdomain_fault(secret):
        report.invalid(path, secret, fault)


def check_tls_change(new: JsonObject, old: JsonObject, report: Report) -> None:
    """Compare two versions of ``spec``: TLS is neither switched on nor off."""
    if any(
        bool(lookup(new, path)) != bool(lookup(old, path))
        for path in ("TLS.static.member.peerSecret", "TLS.static.operatorSecret")
    ):
        report.forbidden(PATH, new.get("TLS"), TLS_IS_FIXED)
