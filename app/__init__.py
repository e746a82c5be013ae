"""The operator: Kubernetes in, etcd clusters out."""

__version__ = "0.10.0"
