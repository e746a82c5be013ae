"""What the models of the custom resources have in common.

A model is a frozen view of an object as the API server holds it. It ignores what it does not know (a newer
operator may have written it) and takes ``null`` for absent, because the operator this one succeeds wrote
objects without any schema. Aliases are the spellings of the API; most are camelCase, those that are not are
named at the field.

The models are also the source of the CRDs: an ``Annotated`` marker of this module carries what JSON schema
cannot say (an embedded Kubernetes type, the keys of a list) into ``app.api.schema``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

GROUP = "etcd.database.coreos.com"
VERSION = "v1beta2"
API_VERSION = f"{GROUP}/{VERSION}"

JsonObject = dict[str, Any]


class Model(BaseModel):
    """A part of a custom resource: immutable, tolerant of unknown keys and of ``null``."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        frozen=True,
        extra="ignore",
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if isinstance(data, dict) and None in data.values():
            return {key: value for key, value in data.items() if value is not None}
        return data

    def to_json(self) -> JsonObject:
        """Return the object under its API spellings, without what is unset or ``None``."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class OwnerReference(Model):
    """Who owns an object; ``controller`` marks the one that manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Model):
    """The part of a custom resource's metadata that decisions look at."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class KubernetesType:
    """Marks opaque JSON as an embedded Kubernetes type: in the CRD it gets that type's full schema."""

    name: str

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Replace the schema by a reference that ``app.api.schema`` resolves."""
        return {**_described(handler(core)), "x-kubernetes-type": self.name}


@dataclass(frozen=True, slots=True, eq=False)  # hashed by identity: typing needs a hash, a dict has none
class Extra:
    """Adds keywords of a structural schema to a field as they are."""

    keywords: JsonObject

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Merge the keywords into the field's schema."""
        return {**handler(core), **self.keywords}


def _described(schema: JsonSchemaValue) -> JsonSchemaValue:
    return {"description": schema["description"]} if "description" in schema else {}


def list_map(*keys: str, at_most: int) -> Extra:
    """Mark a list as a map of its items by ``keys``, so that several appliers can each own an item."""
    return Extra(
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys), "maxItems": at_most}
    )


def atomic_list(*, at_most: int) -> Extra:
    """Mark a list as replaced in whole; ``at_most`` items bounds what a CEL rule over it may cost."""
    return Extra({"x-kubernetes-list-type": "atomic", "maxItems": at_most})


def at_most(characters: int) -> Extra:
    """Bound the length of a string."""
    return Extra({"maxLength": characters})


NULLABLE = Extra({"nullable": True})
INT32 = Extra({"format": "int32"})
INT64 = Extra({"format": "int64"})

Name = Annotated[str, at_most(253)]
Text = Annotated[str, at_most(32768)]
