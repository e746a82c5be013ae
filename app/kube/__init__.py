"""Kubernetes machinery: transport, verbs, caches, queues, election, events; no domain."""
