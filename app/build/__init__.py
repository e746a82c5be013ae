"""Builders of child objects: pure functions from a spec to the JSON that is sent to the API server."""
