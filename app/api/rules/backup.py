"""EtcdBackup and EtcdRestore: which store, and where in it.

A storage type that nobody knows or a block that is missing is the user's mistake and denied as such; the
operator's predecessor ended its process on the first and crashed on the second.
"""

import re
from typing import Any

from app.api.base import JsonObject
from app.api.names import subdomain_fault
from app.api.paths import list_at, object_at, whole_number
from app.api.rules.metadata import check_object_name
from app.api.verdict import Report

_SECRETS = {"S3": "awsSecret", "ABS": "absSecret", "GCS": "gcpSecret", "OSS": "ossSecret"}
_STORES = tuple(_SECRETS)
_OPTIONAL_SECRETS = {"GCS"}
_BUCKET_AND_KEY = re.compile(r"[^/\s]+/[^\s].*", re.DOTALL)
_ENDPOINT = re.compile(r"https?://[^\s/]+\S*")
_POLICY = "spec.backupPolicy"


def examine_backup(obj: JsonObject) -> Report:
    """Check an EtcdBackup by itself."""
    report = Report()
    check_object_name(obj, report)
    spec = object_at(obj, "spec", "", report)
    if spec is None:
        return report
    _check_store(spec, "storageType", report)
    endpoints = list_at(spec, "etcdEndpoints", "spec", report)
    if not endpoints:
        report.required("spec.etcdEndpoints", "a backup needs the client URL of a member at least")
    for position, endpoint in enumerate(endpoints):
        if not isinstance(endpoint, str) or _ENDPOINT.fullmatch(endpoint) is None:
            message = "must be a URL such as http://my-cluster-client:2379"
            report.invalid(f"spec.etcdEndpoints[{position}]", endpoint, message)
    _check_secret("spec.clientTLSSecret", spec.get("clientTLSSecret"), report)
    policy = object_at(spec, "backupPolicy", "spec", report) or {}
    for key in ("backupIntervalInSecond", "maxBackups"):
        number = policy.get(key)
        if number is not None and (whole_number(number) is None or number < 0):
            report.invalid(f"{_POLICY}.{key}", number, "must be an integer from 0 on", nearest=0)
    return report


def examine_restore(obj: JsonObject) -> Report:
    """Check an EtcdRestore by itself: it bears the name of the cluster that it makes anew."""
    report = Report()
    check_object_name(obj, report)
    spec = object_at(obj, "spec", "", report)
    if spec is None:
        return report
    _check_store(spec, "backupStorageType", report)
    cluster = (object_at(spec, "etcdCluster", "spec", report) or {}).get("name")
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not cluster:
        report.required("spec.etcdCluster.name", "a restore needs the name of its EtcdCluster", nearest=name)
    elif name and cluster != name:
        report.invalid("spec.etcdCluster.name", cluster, "must be the EtcdRestore's own name", nearest=name)
    return report


def _check_store(spec: JsonObject, key: str, report: Report) -> None:
    store = spec.get(key)
    given = [known for known in _STORES if spec.get(known.lower()) is not None]
    if store is None or store == "":
        report.required(f"spec.{key}", f"one of {', '.join(_STORES)}", nearest=given[0] if given else None)
        return
    if store not in _STORES:
        report.unsupported(f"spec.{key}", store, _STORES, nearest=given[0] if given else None)
        return
    block = store.lower()
    for other in given:
        if other != store:
            message = f"spec.{key} is {store}; leave it out"
            report.forbidden(f"spec.{other.lower()}", spec[other.lower()], message)
    source = object_at(spec, block, "spec", report)
    if source is None:
        report.required(f"spec.{block}", f"spec.{key} is {store}, which needs to know where")
        return
    path = source.get("path")
    if not isinstance(path, str) or _BUCKET_AND_KEY.fullmatch(path) is None:
        report.invalid(f"spec.{block}.path", path, "must be <bucket>/<key>")
    secret = _SECRETS[store]
    if not source.get(secret) and store not in _OPTIONAL_SECRETS:
        report.required(f"spec.{block}.{secret}", "the store's credentials are in this Secret")
    _check_secret(f"spec.{block}.{secret}", source.get(secret), report)


def _check_secret(path: str, secret: Any, report: Report) -> None:
    if secret is None or secret == "":
        return
    fault = subdomain_fault(secret) if isinstance(secret, str) else "must be the name of a Secret"
    if fault:
        report.invalid(path, secret, fault)
