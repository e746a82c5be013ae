"""The operator: Kubernetes in, etcd clusters out."""
