"""The Pods of a recovery: each does one task beside the volume of a member that does not run.

They are made from the member's own Pod, so that they run as the same user, under the same restrictions and
where its volume can be mounted. None is restarted, none is probed, and none carries the label by which
Services and disruption budgets know members.
"""

from typing import Any

from app.api.base import JsonObject
from app.api.cluster import ClusterSpec
from app.build.common import APP, HELPER_LABEL, MEMBER_LABEL, TASK_LABEL, TOKEN_LABEL, Platform
from app.build.pod import DATA_DIR, DATA_ROOT, DATA_VOLUME, pod
from app.plan.actions import CreateHelper
from app.plan.observed import ClusterRef, Task

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def helper(
    cluster: ClusterRef, spec: ClusterSpec, action: CreateHelper, *, platform: Platform, operator_image: str
) -> JsonObject:
    """Build the Pod that a `CreateHelper` asks for; ``operator_image`` is what reads logs."""
    made = pod(cluster, spec, action.start, platform=platform)
    member = action.start.member
    made["metadata"] |= {
        "name": action.task.pod(member),
        "labels": {
            **APP,
            HELPER_LABEL: cluster.name,
            MEMBER_LABEL: member,
            TASK_LABEL: str(action.task),
            TOKEN_LABEL: action.token,
        },
    }
    body: dict[str, Any] = made["spec"]
    for name in ("hostname", "subdomain"):
        body.pop(name, None)
    body["restartPolicy"] = "Never"
    container: dict[str, Any] = body["containers"][0]
    for name in (*PROBES, "ports"):
        container.pop(name, None)
    if action.task is Task.FORCE:
        container["command"] = [*container["command"], "--force-new-cluster"]
        # What the log does not call committed would be dropped (see `app.etcd.wal`).
        body["initContainers"] = [_on_log("commit-wal", container, operator_image, name="commit-wal")]
    else:
        body["containers"] = [_on_log("inspect-wal", container, operator_image, name=container["name"])]
    return made


def _on_log(command: str, member: JsonObject, image: str, *, name: str) -> JsonObject:
    mount = {"name": DATA_VOLUME, "mountPath": DATA_ROOT, "readOnly": command == "inspect-wal"}
    return {
        "name": name,
        "image": image,
        "command": ["etcd-operator", command, f"{DATA_DIR}/member/wal"],
        "volumeMounts": [mount],
        "securityContext": member["securityContext"],
        "terminationMessagePolicy": "File",
    }
