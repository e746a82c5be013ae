"""Where a backup is kept: the blocks that EtcdBackup and EtcdRestore share, one per kind of store."""

from typing import Annotated

from app.api.base import Model, Name, at_most

Path = Annotated[str, at_most(1024)]


class S3Source(Model):
    """An S3 bucket, or one of a store that speaks the same protocol."""

    path: Path = ""
    """<bucket>/<key>."""
    aws_secret: Name = ""
    """Secret with the files credentials and config, as the AWS tools read them."""
    endpoint: Annotated[str, at_most(1024)] | None = None
    """URL of the store, where it is not Amazon's."""
    force_path_style: bool = False
    """Whether the bucket is part of the path rather than of the host name."""


class ABSSource(Model):
    """An Azure blob container."""

    path: Path = ""
    """<container>/<key>."""
    abs_secret: Name = ""
    """Secret with storage-account, storage-key and, optionally, cloud."""


class GCSSource(Model):
    """A Google Cloud Storage bucket."""

    path: Path = ""
    """<bucket>/<key>."""
    gcp_secret: Name | None = None
    """Secret with access-token or credentials.json. Without it the environment's own credentials are used."""


class OSSSource(Model):
    """An Alibaba Cloud OSS bucket."""

    path: Path = ""
    """<bucket>/<key>."""
    oss_secret: Name = ""
    """Secret with accessKeyID and accessKeySecret."""
    endpoint: Annotated[str, at_most(1024)] | None = None
    """URL of the store; http://oss-cn-hangzhou.aliyuncs.com where it is not set."""
