"""Where members may run: tolerations, affinity and spreading, as the API server would check them on the Pod.

They are checked here too because a cluster that is let in with them could never get its Pods.
"""

from collections.abc import Iterable
from typing import Any

from app.api.base import JsonObject
from app.api.paths import list_at, object_at, whole_number
from app.api.rules.metadata import check_label_key
from app.api.verdict import Report

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("Equal", "Exists")
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_SPREADING = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def check_scheduling(pod: JsonObject, report: Report) -> None:
    """Check tolerations, topologySpreadConstraints, affinity and antiAffinity of ``spec.pod``."""
    for path, toleration in _objects(pod, "tolerations", "spec.pod", report):
        _check_toleration(path, toleration, report)
    _check_spreading(pod, report)
    anti_affinity = pod.get("antiAffinity")
    if anti_affinity is not None and not isinstance(anti_affinity, bool):
        report.wrong_type("spec.pod.antiAffinity", anti_affinity, "true or false")
    affinity = object_at(pod, "affinity", "spec.pod", report)
    if anti_affinity is True:
        hint = "has no effect beside affinity" if affinity is not None else "use spec.pod.affinity"
        report.warn(f"spec.pod.antiAffinity: deprecated, {hint}")
    if affinity:
        _check_affinity(affinity, report)


def _objects(parent: JsonObject, key: str, path: str, report: Report) -> Iterable[tuple[str, JsonObject]]:
    """Return the objects of the list under a key, each with its path; other types are reported."""
    if parent.get(key) is None:
        return ()
    found = []
    for position, item in enumerate(list_at(parent, key, path, report)):
        place = f"{path}.{key}[{position}]"
        if isinstance(item, dict):
            found.append((place, item))
        else:
            report.wrong_type(place, item, "an object")
    return found


def _check_toleration(path: str, toleration: JsonObject, report: Report) -> None:
    key, operator, effect = (toleration.get(name) or "" for name in ("key", "operator", "effect"))
    if isinstance(key, str) and key:
        check_label_key(f"{path}.key", key, report)
    if operator and operator not in _OPERATORS:
        report.unsupported(f"{path}.operator", operator, _OPERATORS, nearest="Equal")
    elif not key and operator != "Exists":
        report.invalid(f"{path}.operator", operator, "must be Exists where key is empty", nearest="Exists")
    elif operator == "Exists" and toleration.get("value"):
        report.invalid(
            f"{path}.value", toleration["value"], "must be empty where operator is Exists", nearest=""
        )
    if effect and effect not in _EFFECTS:
        report.unsupported(f"{path}.effect", effect, _EFFECTS, nearest="NoSchedule")
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        message = "must be NoExecute where tolerationSeconds is set"
        report.invalid(f"{path}.effect", effect, message, nearest="NoExecute")


def _check_spreading(pod: JsonObject, report: Report) -> None:
    seen: set[tuple[str, str]] = set()
    for path, constraint in _objects(pod, "topologySpreadConstraints", "spec.pod", report):
        _check_topology(path, constraint, report)
        when = constraint.get("whenUnsatisfiable")
        if when not in _SPREADING:
            report.unsupported(f"{path}.whenUnsatisfiable", when, _SPREADING, nearest="ScheduleAnyway")
        for key in ("maxSkew", "minDomains"):
            number = whole_number(constraint.get(key))
            if number is None and (key == "maxSkew" or constraint.get(key) is not None):
                report.wrong_type(f"{path}.{key}", constraint.get(key), "an integer from 1 on")
            elif number is not None and number < 1:
                report.invalid(f"{path}.{key}", number, "must be from 1 on", nearest=1)
        if constraint.get("minDomains") is not None and when == "ScheduleAnyway":
            message = "needs whenUnsatisfiable: DoNotSchedule; leave it out"
            report.forbidden(f"{path}.minDomains", constraint["minDomains"], message)
        for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(key) is not None and constraint[key] not in _POLICIES:
                report.unsupported(f"{path}.{key}", constraint[key], _POLICIES)
        selector = object_at(constraint, "labelSelector", path, report) or {}
        _check_expressions(selector, "matchExpressions", f"{path}.labelSelector", _LABEL_OPERATORS, report)
        identity = (str(constraint.get("topologyKey")), str(when))
        if identity in seen:
            report.duplicate(path, constraint, "a topologyKey may be given once for each whenUnsatisfiable")
        seen.add(identity)


def _check_affinity(affinity: JsonObject, report: Report) -> None:
    path = "spec.pod.affinity"
    node = object_at(affinity, "nodeAffinity", path, report)
    if node:
        _check_node_affinity(node, f"{path}.nodeAffinity", report)
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = object_at(affinity, kind, path, report)
        if not terms:
            continue
        for place, term in _objects(terms, _REQUIRED, f"{path}.{kind}", report):
            _check_pod_term(place, term, report)
        for place, weighted in _objects(terms, _PREFERRED, f"{path}.{kind}", report):
            _check_weight(place, weighted, report)
            preferred = object_at(weighted, "podAffinityTerm", place, report)
            if preferred is not None:
                _check_pod_term(f"{place}.podAffinityTerm", preferred, report)


def _check_node_affinity(node: JsonObject, path: str, report: Report) -> None:
    required = object_at(node, _REQUIRED, path, report)
    if required is not None:
        place = f"{path}.{_REQUIRED}"
        if not required.get("nodeSelectorTerms"):
            report.required(f"{place}.nodeSelectorTerms", "at least one term must say which nodes")
        for term_path, term in _objects(required, "nodeSelectorTerms", place, report):
            _check_expressions(term, "matchExpressions", term_path, _NODE_OPERATORS, report)
    for place, weighted in _objects(node, _PREFERRED, path, report):
        _check_weight(place, weighted, report)
        preference = object_at(weighted, "preference", place, report) or {}
        _check_expressions(preference, "matchExpressions", f"{place}.preference", _NODE_OPERATORS, report)


def _check_weight(path: str, weighted: JsonObject, report: Report) -> None:
    weight = weighted.get("weight")
    number = whole_number(weight)
    if number is None:
        report.wrong_type(f"{path}.weight", weight, "an integer from 1 to 100")
    elif not 1 <= number <= 100:
        nearest = 1 if number < 1 else 100
        report.invalid(f"{path}.weight", weight, "must be from 1 to 100", nearest=nearest)


def _check_pod_term(path: str, term: JsonObject, report: Report) -> None:
    _check_topology(path, term, report)
    selector = object_at(term, "labelSelector", path, report) or {}
    _check_expressions(selector, "matchExpressions", f"{path}.labelSelector", _LABEL_OPERATORS, report)


def _check_topology(path: str, term: JsonObject, report: Report) -> None:
    topology = term.get("topologyKey")
    if not isinstance(topology, str) or not topology:
        words = "a term needs the node label that members are told apart by"
        report.required(f"{path}.topologyKey", words, nearest="kubernetes.io/hostname")
    else:
        check_label_key(f"{path}.topologyKey", topology, report)


def _check_expressions(
    parent: JsonObject, key: str, path: str, operators: tuple[str, ...], report: Report
) -> None:
    for place, expression in _objects(parent, key, path, report):
        operator, values = expression.get("operator"), expression.get("values") or []
        name = expression.get("key")
        if isinstance(name, str):
            check_label_key(f"{place}.key", name, report)
        if operator not in operators:
            report.unsupported(f"{place}.operator", operator, operators)
        elif operator in _WITHOUT_VALUES and values:
            report.invalid(
                f"{place}.values", values, f"must be empty where operator is {operator}", nearest=[]
            )
        elif operator in {"In", "NotIn"} and not values:
            report.required(f"{place}.values", f"operator {operator} needs at least one value")
        elif operator in {"Gt", "Lt"} and _not_one_number(values):
            report.invalid(
                f"{place}.values", values, f"operator {operator} needs one value, an integer in quotes"
            )


def _not_one_number(values: Any) -> bool:
    return not (isinstance(values, list) and len(values) == 1 and str(values[0]).lstrip("-").isdecimal())
