"""Pods as the harness needs to know them: where they are, and which processes they are."""

from typing import Self

import msgspec

from tests.cluster.errors import HarnessError


class _Container(msgspec.Struct, rename="camel"):
    name: str
    container_id: str = msgspec.field(name="containerID", default="")


class _Status(msgspec.Struct, rename="camel"):
    pod_ip: str = msgspec.field(name="podIP", default="")
    container_statuses: list[_Container] = []


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Metadata(msgspec.Struct):
    name: str


class Pod(msgspec.Struct):
    """A Pod that is bound to a node."""

    metadata: _Metadata
    spec: _Spec
    status: _Status

    @classmethod
    def decode(cls, data: bytes) -> Self:
        pod = msgspec.json.decode(data, type=cls)
        if not pod.spec.node_name:
            raise HarnessError(f"The Pod {pod.name} isn't bound to a node")
        return pod

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def node(self) -> str:
        return self.spec.node_name

    @property
    def address(self) -> str:
        """Its IP address; empty if it has none yet."""
        return self.status.pod_ip

    def container_id(self, name: str = "") -> str:
        """The identity of a container, by default the first, as containerd knows it.

        Raises HarnessError if there is none.
        """
        for container in self.status.container_statuses:
            if container.container_id and name in {"", container.name}:
                return container.container_id.rpartition("/")[2]
        raise HarnessError(f"The Pod {self.name} has no container {name}".rstrip())


class _List(msgspec.Struct):
    items: list[Pod]


def decode_list(data: bytes) -> list[Pod]:
    """The Pods of a list that are bound to a node."""
    return [pod for pod in msgspec.json.decode(data, type=_List).items if pod.spec.node_name]
