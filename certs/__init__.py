"""Certificates of the admission webhooks: an authority of our own, or somebody else's files."""
