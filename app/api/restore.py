"""The EtcdRestore: a cluster made anew from a backup."""

from typing import Annotated

from pydantic import Field

from app.api.base import Model, Name, ObjectMeta, Text, at_most
from app.api.stores import ABSSource, GCSSource, OSSSource, S3Source


class ClusterReference(Model):
    """An EtcdCluster of the same namespace."""

    name: Name = ""
    """Name of the EtcdCluster."""


class RestoreSpec(Model):
    """Which backup, into which cluster."""

    backup_storage_type: Annotated[str, at_most(64)] = ""
    """S3, ABS, GCS or OSS; the block of the same name says where in it."""
    etcd_cluster: ClusterReference = Field(default_factory=ClusterReference)
    """The cluster that is made anew; the EtcdRestore has the same name."""
    s3: S3Source | None = None
    """An S3 bucket."""
    abs: ABSSource | None = None
    """An Azure blob container."""
    gcs: GCSSource | None = None
    """A Google Cloud Storage bucket."""
    oss: OSSSource | None = None
    """An Alibaba Cloud OSS bucket."""


class RestoreStatus(Model):
    """How the restore went."""

    succeeded: bool = False
    """Whether the restored cluster serves."""
    reason: Text = ""
    """Why the restore failed."""


class EtcdRestore(Model):
    """A restore of an etcd cluster from a backup."""

    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    """The part of the metadata that decisions look at."""
    spec: RestoreSpec = Field(default_factory=RestoreSpec)
    """Which backup, into which cluster."""
    status: RestoreStatus = Field(default_factory=RestoreStatus)
    """How the restore went."""
