"""Label selectors, as the API's own documents define them."""

from typing import Any

import pytest

from app.kube.selectors import selects

LABELS = {"app": "etcd", "etcd_cluster": "c"}


def expression(operator: str, *values: str, key: str = "app") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": None, "matchExpressions": None}, True),
        ({"matchLabels": {"app": "etcd"}}, True),
        ({"matchLabels": {"app": "etcd", "etcd_cluster": "d"}}, False),
        ({"matchLabels": {"other": ""}}, False),
        (expression("In", "etcd", "x"), True),
        (expression("In", "x"), False),
        (expression("In", "x", key="other"), False),
        (expression("NotIn", "x"), True),
        (expression("NotIn", "etcd"), False),
        (expression("NotIn", "etcd", key="other"), True),
        (expression("Exists"), True),
        (expression("Exists", key="other"), False),
        (expression("DoesNotExist"), False),
        (expression("DoesNotExist", key="other"), True),
        (expression("Perhaps"), False),
        ({"matchLabels": {"app": "etcd"}, **expression("Exists", key="other")}, False),
    ],
)
def test_a_selector_selects_what_meets_all_of_it(selector: Any, expected: bool) -> None:
    assert selects(selector, LABELS) is expected
