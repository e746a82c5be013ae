"""The environment of the etcd container: settings of etcd that have no field of their own.

What the operator sets itself is refused, since etcd exits when a flag and a variable set the same thing, and
so is what takes a member out of its cluster's hands (another data folder, a configuration file, discovery,
``force-new-cluster``). etcd ignores a variable that it does not know without a word (it logs a warning), so
a setting that the version asked for does not have is refused as well. The names are those of etcd 3.5.35,
3.6.16 and 3.7.3 (``etcd --help``).
"""

from typing import Any

from app.api.base import JsonObject
from app.api.paths import list_at, lookup
from app.api.quantities import parse_quantity
from app.api.verdict import Report
from app.api.versions import EtcdVersion

PATH = "spec.pod.etcdEnv"

_RESERVED_PREFIXES = ("ETCD_INITIAL_", "ETCD_LISTEN_", "ETCD_ADVERTISE_", "ETCD_DISCOVERY")
_NOT_RESERVED = {"ETCD_INITIAL_ELECTION_TICK_ADVANCE"}
_CERTIFICATES = {
    f"ETCD_{plane}{name}"
    for plane in ("", "PEER_")
    for name in (
        "CA_FILE", "CERT_FILE", "KEY_FILE", "TRUSTED_CA_FILE", "CRL_FILE", "CLIENT_CERT_AUTH", "AUTO_TLS",
        "CLIENT_CERT_FILE", "CLIENT_KEY_FILE",
    )
} | {"ETCD_CLIENT_CRL_FILE"}  # fmt: skip
_RESERVED = _CERTIFICATES | {
    "ETCD_NAME", "ETCD_DATA_DIR", "ETCD_WAL_DIR", "ETCD_CONFIG_FILE", "ETCD_FORCE_NEW_CLUSTER",
    "ETCD_STRICT_RECONFIG_CHECK",
}  # fmt: skip

_EXPERIMENTAL = "ETCD_EXPERIMENTAL_"
_STILL_EXPERIMENTAL = {"ETCD_EXPERIMENTAL_ENABLE_GRPC_LOGGING"}
_NOW_A_GATE = {
    "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK": "InitialCorruptCheck",
    "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED": "CompactHashCheck",
    "ETCD_EXPERIMENTAL_ENABLE_LEASE_CHECKPOINT": "LeaseCheckpoint",
    "ETCD_EXPERIMENTAL_ENABLE_LEASE_CHECKPOINT_PERSIST": "LeaseCheckpointPersist",
    "ETCD_EXPERIMENTAL_STOP_GRPC_SERVICE_ON_DEFRAG": "StopGRPCServiceOnDefrag",
    "ETCD_EXPERIMENTAL_TXN_MODE_WRITE_WITH_SHARED_BUFFER": "TxnModeWriteWithSharedBuffer",
}
_GONE_IN_3_6 = {"ETCD_ENABLE_V2", "ETCD_EXPERIMENTAL_ENABLE_V2V3", "ETCD_PROXY"} | {
    f"ETCD_PROXY_{name}"
    for name in ("DIAL_TIMEOUT", "FAILURE_WAIT", "READ_TIMEOUT", "REFRESH_INTERVAL", "WRITE_TIMEOUT")
}
_NEW_IN_3_6 = {
    f"ETCD_{name}"
    for name in (
        "BOOTSTRAP_DEFRAG_THRESHOLD_MEGABYTES", "COMPACT_HASH_CHECK_TIME", "COMPACTION_BATCH_LIMIT",
        "COMPACTION_SLEEP_INTERVAL", "CORRUPT_CHECK_TIME", "DISTRIBUTED_TRACING_ADDRESS",
        "DISTRIBUTED_TRACING_INSTANCE_ID", "DISTRIBUTED_TRACING_SAMPLING_RATE",
        "DISTRIBUTED_TRACING_SERVICE_NAME", "DOWNGRADE_CHECK_TIME", "ENABLE_DISTRIBUTED_TRACING",
        "FEATURE_GATES", "LOG_FORMAT", "MAX_LEARNERS", "MEMORY_MLOCK", "PEER_SKIP_CLIENT_SAN_VERIFICATION",
        "SNAPSHOT_CATCHUP_ENTRIES", "WARNING_APPLY_DURATION", "WARNING_UNARY_REQUEST_DURATION",
        "WATCH_PROGRESS_NOTIFY_INTERVAL",
    )
}  # fmt: skip

_SOURCES = ("configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef")

_QUOTA = "ETCD_QUOTA_BACKEND_BYTES"
_GIB = 1024**3
_MOST_ADVISED = 8 * _GIB
"""etcd's documents advise no more (its system limits)."""
_DEFAULT_QUOTA = 2 * _GIB


def check_environment(pod: JsonObject, version: EtcdVersion | None, report: Report) -> None:
    """Check ``spec.pod.etcdEnv`` against the version of etcd that it is for, where that is known."""
    entries = list_at(pod, "etcdEnv", "spec.pod", report)
    seen: set[str] = set()
    quota: Any = None
    for position, entry in enumerate(entries):
        path = f"{PATH}[{position}]"
        if not isinstance(entry, dict):
            report.wrong_type(path, entry, "an object with name and value")
            continue
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            report.required(f"{path}.name", "a variable needs a name")
            continue
        if name in seen:
            report.duplicate(f"{path}.name", name, "a variable may be given once")
        seen.add(name)
        _check_name(f"{path}.name", name, report)
        _check_value(path, entry, report)
        if name.startswith("ETCD_"):
            _check_known(f"{path}.name", name, version, report)
        if name == _QUOTA:
            quota = _check_quota(f"{path}.value", entry.get("value"), report)
    _check_spellings(entries, seen, report)
    if entries or pod.get("persistentVolumeClaimSpec"):
        _warn_of_quota(pod, quota, report)


def _check_name(path: str, name: str, report: Report) -> None:
    if "=" in name or not (name.isascii() and name.isprintable()):
        report.invalid(path, name, "must be printable ASCII without '='")
    elif name in _RESERVED or (name.startswith(_RESERVED_PREFIXES) and name not in _NOT_RESERVED):
        report.forbidden(path, name, f"{name} is the operator's to set; leave it out")


def _check_value(path: str, entry: JsonObject, report: Report) -> None:
    value, source = entry.get("value"), entry.get("valueFrom")
    if value is not None and not isinstance(value, str):
        report.wrong_type(f"{path}.value", value, "a string in quotes")
    if source is None:
        return
    if not isinstance(source, dict):
        report.wrong_type(f"{path}.valueFrom", source, "an object")
    elif value:
        report.invalid(f"{path}.valueFrom", source, "may not be given beside value; keep one of the two")
    elif sum(source.get(key) is not None for key in _SOURCES) != 1:
        report.invalid(f"{path}.valueFrom", source, f"must have exactly one of {', '.join(_SOURCES)}")


def _check_known(path: str, name: str, version: EtcdVersion | None, report: Report) -> None:
    if version is None or version.major != 3:
        return
    minor = version.minor
    if minor >= 6 and name in _GONE_IN_3_6:
        report.forbidden(path, name, f"etcd {version.minor_text} no longer has this setting; leave it out")
    elif minor >= 7 and name.startswith(_EXPERIMENTAL) and name not in _STILL_EXPERIMENTAL:
        gate = _NOW_A_GATE.get(name)
        now = f"ETCD_FEATURE_GATES={gate}=true" if gate else f"ETCD_{name.removeprefix(_EXPERIMENTAL)}"
        report.forbidden(path, name, f"etcd {version.minor_text} ignores it", nearest=now)
    elif minor <= 5 and name in _NEW_IN_3_6:
        report.forbidden(
            path, name, f"etcd {version.minor_text} ignores it, etcd 3.6 is the first to have it"
        )


def _check_spellings(entries: list[Any], seen: set[str], report: Report) -> None:
    """Refuse a setting under both of its names: etcd 3.6 knows both and does not start with them."""
    for position, entry in enumerate(entries):
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and name.startswith(_EXPERIMENTAL):
            plain = f"ETCD_{name.removeprefix(_EXPERIMENTAL)}"
            if plain in seen:
                report.duplicate(f"{PATH}[{position}].name", name, f"{plain} is the same setting; keep one")


def _check_quota(path: str, value: Any, report: Report) -> int | None:
    """Check the quota, which etcd reads as a number of bytes, and return it."""
    if not isinstance(value, str) or not value:
        return None
    digits = value.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= 18:
        return int(value)
    size = parse_quantity(value)
    nearest = str(int(size)) if size is not None and 0 < size < 2**63 else str(_DEFAULT_QUOTA)
    report.invalid(path, value, "etcd reads it as a whole number of bytes", nearest=nearest)
    return None


def _warn_of_quota(pod: JsonObject, quota: int | None, report: Report) -> None:
    """Warn of a quota that cannot be used up or never be defragmented.

    That needs as much free space again.
    """
    effective = quota or _DEFAULT_QUOTA
    if effective < 0:
        report.warn(f"{PATH}: {_QUOTA} below 0 means no quota, a full volume stops a member")
        return
    if effective > _MOST_ADVISED:
        report.warn(f"{PATH}: a quota above 8 GiB ({effective} bytes) makes restarts and defragmenting slow")
    volume = parse_quantity(lookup(pod, "persistentVolumeClaimSpec.resources.requests.storage"))
    if volume is not None and effective > volume / 2:
        report.warn(
            f"spec.pod: the quota, {effective} bytes, is above half of the volume, defragmenting may fail"
        )
