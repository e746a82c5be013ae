"""The EtcdBackup: a snapshot of a cluster into a store, once or periodically."""

from typing import Annotated

from pydantic import Field

from app.api.base import INT64, NULLABLE, Model, Name, ObjectMeta, Text, at_most, atomic_list
from app.api.stores import ABSSource, GCSSource, OSSSource, S3Source


class BackupPolicy(Model):
    """How often, how many, how long."""

    timeout_in_second: Annotated[int, INT64] | None = None
    """How long one backup may take; 60 where it is not set or not positive."""
    backup_interval_in_second: Annotated[int, INT64] | None = None
    """Time between two backups; 0 for a single one."""
    max_backups: Annotated[int, INT64] | None = None
    """How many backups are kept; 0 keeps all."""


class BackupSpec(Model):
    """What is saved, and where to."""

    etcd_endpoints: Annotated[tuple[Annotated[str, at_most(1024)], ...], atomic_list(at_most=64)] = ()
    """Client URLs of the cluster's members."""
    storage_type: Annotated[str, at_most(64)] = ""
    """S3, ABS, GCS or OSS; the block of the same name says where in it."""
    client_tls_secret: Name | None = Field(default=None, alias="clientTLSSecret")
    """Secret with etcd-client.crt, etcd-client.key and etcd-client-ca.crt."""
    backup_policy: BackupPolicy | None = None
    """How often, how many, how long. Without it one backup is made."""
    s3: S3Source | None = None
    """An S3 bucket."""
    abs: ABSSource | None = None
    """An Azure blob container."""
    gcs: GCSSource | None = None
    """A Google Cloud Storage bucket."""
    oss: OSSSource | None = None
    """An Alibaba Cloud OSS bucket."""


class BackupStatus(Model):
    """How the last backup went."""

    succeeded: bool = False
    """Whether the last backup succeeded."""
    reason: Text = Field(default="", alias="Reason")
    """Why the last backup failed."""
    etcd_version: Annotated[str, at_most(128)] = ""
    """The etcd version that the snapshot was taken from."""
    etcd_revision: Annotated[int, INT64] = 0
    """The revision that the snapshot holds."""
    last_success_date: Annotated[str, at_most(64), NULLABLE] | None = None
    """When a backup succeeded last."""


class EtcdBackup(Model):
    """A backup of an etcd cluster."""

    metadata: ObjectMeta = Field(default_factory=ObjectMeta)
    """The part of the metadata that decisions look at."""
    spec: BackupSpec = Field(default_factory=BackupSpec)
    """What is saved, and where to."""
    status: BackupStatus = Field(default_factory=BackupStatus)
    """How the last backup went."""
