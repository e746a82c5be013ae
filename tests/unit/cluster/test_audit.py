import json
from pathlib import Path
from typing import Any

from tests.cluster import audit

_OPERATOR = audit.service_account("system", "etcd-operator")


def _line(user: str, **more: Any) -> str:
    event = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/namespaces/system/pods",
        "verb": "list",
        "user": {"username": user, "groups": ["system:authenticated"]},
        "objectRef": {"resource": "pods", "namespace": "system", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 200},
    }
    return json.dumps(event | more) + "\n"


def test_events_of_one_user(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(_line(_OPERATOR) + _line("admin"))
    assert len(audit.read(log)) == 2
    (event,) = audit.read(log, user=_OPERATOR)
    assert (event.verb, event.object_ref.resource, event.code) == ("list", "pods", 200)
    assert not event.forbidden
    assert not event.deprecated


def test_whom_a_request_was_for(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(_line("admin", impersonatedUser={"username": _OPERATOR}))
    assert len(audit.read(log, user=_OPERATOR)) == 1
    assert not audit.read(log, user="admin")


def test_what_the_server_noted_beside_it(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    forbidden = {"authorization.k8s.io/decision": "forbid"}
    log.write_text(_line("a", annotations=forbidden) + _line("b", annotations={"k8s.io/deprecated": "true"}))
    first, second = audit.read(log)
    assert (first.forbidden, first.deprecated) == (True, False)
    assert (second.forbidden, second.deprecated) == (False, True)


def test_a_line_that_is_being_written_is_not_read_yet(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    log.write_text(_line("a") + _line("b")[:40])
    assert [event.as_user for event in audit.read(log)] == ["a"]


def test_no_log_yet(tmp_path: Path) -> None:
    assert audit.read(tmp_path / "audit.log") == []
