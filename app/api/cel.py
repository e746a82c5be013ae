"""Rules that hold while the webhook is down: size, immutability, storage that does not shrink.

The API server evaluates them itself. Each says the same as the webhook's rule, word for word, so that nobody
sees which of the two spoke. All of them ratchet: what a stored object has already stays writable, since a
write of the status validates the whole object.
"""

from app.api import unbuilt
from app.api.base import JsonObject
from app.api.rules import recovery, size, storage, tls

_OLD_OR = "oldSelf.hasValue() && oldSelf.value() == self"


def _has(root: str, path: str) -> str:
    """CEL for: every step of the path below ``root`` is there."""
    steps = path.split(".")
    return " && ".join(f"has({root}.{'.'.join(steps[: n + 1])})" for n in range(len(steps)))


def _value(root: str, path: str, absent: str) -> str:
    return f"({_has(root, path)} ? {root}.{path} : {absent})"


def _same(path: str, absent: str = "''") -> str:
    """CEL for: the value at the path has not changed, where absent means ``absent``."""
    return f"{_value('self', path, absent)} == {_value('oldSelf', path, absent)}"


def _kept(field: str) -> str:
    """CEL for: the field of this object is as it was, and absent is not the same as empty."""
    equal = f"self.{field} == oldSelf.{field}"
    return f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || {equal})"


def _given(root: str, path: str) -> str:
    return f"({_has(root, path)} && {root}.{path} != '')"


def _storage(root: str) -> str:
    return (
        f"(has({root}.resources) && has({root}.resources.requests) && 'storage' in {root}.resources.requests)"
    )


def _bytes(root: str) -> str:
    return f"quantity(string({root}.resources.requests['storage']))"


def _words(text: str, old: str, shown: str, absent: str = "; leave it out") -> str:
    """CEL for: the text and the nearest valid value, which is the old one."""
    return f"'{text}' + ({old} ? '; the nearest valid value is ' + {shown} : '{absent}')"


def _quoted(value: str) -> str:
    return f"'\"' + {value} + '\"'"


def _between(least: int, most: int, text: str) -> JsonObject:
    """A rule for a number; what was stored may stay."""
    return {
        "rule": f"(self >= {least} && self <= {most}) || ({_OLD_OR})",
        "optionalOldSelf": True,
        "message": text,
        "messageExpression": f"'{text}; the nearest valid value is ' + "
        f"(self < {least} ? '{least}' : '{most}')",
        "reason": "FieldValueInvalid",
    }


CLUSTER_RULES: dict[str, list[JsonObject]] = {
    "spec": [
        {
            "rule": f"({_has('self', 'pod.persistentVolumeClaimSpec')}) == "
            f"({_has('oldSelf', 'pod.persistentVolumeClaimSpec')})",
            "message": storage.KIND_IS_FIXED,
            "messageExpression": f"'{storage.KIND_IS_FIXED}; ' + "
            f"({_has('oldSelf', 'pod.persistentVolumeClaimSpec')} ? 'keep what it was' : 'leave it out')",
            "fieldPath": ".pod.persistentVolumeClaimSpec",
            "reason": "FieldValueForbidden",
        },
        {
            "rule": _same("pod.ClusterDomain"),
            "message": storage.DOMAIN_IS_FIXED,
            "messageExpression": _words(
                storage.DOMAIN_IS_FIXED,
                _given("oldSelf", "pod.ClusterDomain"),
                _quoted("oldSelf.pod.ClusterDomain"),
            ),
            "fieldPath": ".pod.ClusterDomain",
            "reason": "FieldValueForbidden",
        },
        {
            "rule": " && ".join(
                f"{_given('self', path)} == {_given('oldSelf', path)}"
                for path in ("TLS.static.member.peerSecret", "TLS.static.operatorSecret")
            ),
            "message": tls.TLS_IS_FIXED,
            "fieldPath": ".TLS",
            "reason": "FieldValueForbidden",
        },
    ],
    "spec.size": [_between(size.LEAST, size.MOST, size.RANGE)],
    "spec.recovery.memberReplaceAfterSeconds": [_between(recovery.LEAST, recovery.MOST, recovery.RANGE)],
    "spec.pod.persistentVolumeClaimSpec": [
        {
            "rule": f"!{_storage('oldSelf')} || ({_storage('self')} && "
            f"quantity(string(self.resources.requests['storage'])).compareTo({_bytes('oldSelf')}) >= 0)",
            "message": storage.NEVER_SHRINKS,
            "messageExpression": f"'{storage.NEVER_SHRINKS}; the nearest valid value is ' + "
            "(type(oldSelf.resources.requests['storage']) == string "
            "? '\"' + string(oldSelf.resources.requests['storage']) + '\"' "
            ": string(oldSelf.resources.requests['storage']))",
            "fieldPath": ".resources.requests['storage']",
            "reason": "FieldValueForbidden",
        },
        {
            "rule": _kept("storageClassName"),
            "message": storage.CLASS_IS_FIXED,
            "messageExpression": _words(
                storage.CLASS_IS_FIXED, "has(oldSelf.storageClassName)", _quoted("oldSelf.storageClassName")
            ),
            "fieldPath": ".storageClassName",
            "reason": "FieldValueForbidden",
        },
        {
            "rule": _kept("accessModes"),
            "message": storage.MODES_ARE_FIXED,
            "messageExpression": _words(
                storage.MODES_ARE_FIXED,
                "has(oldSelf.accessModes)",
                """'["' + oldSelf.accessModes.join('","') + '"]'""",
            ),
            "fieldPath": ".accessModes",
            "reason": "FieldValueForbidden",
        },
    ],
}
"""Rules of an EtcdCluster by the path of the schema that they are evaluated at."""


def rules_of(kind: str) -> dict[str, list[JsonObject]]:
    """Return a kind's rules by the schema path they are evaluated at ("" is the whole object)."""
    if kind not in unbuilt.KINDS:
        return CLUSTER_RULES
    return {
        "": [
            {
                "rule": "oldSelf.hasValue()",
                "optionalOldSelf": True,
                "message": unbuilt.kind_denial(kind),
                "fieldPath": ".spec",
                "reason": "FieldValueForbidden",
            }
        ]
    }
