"""Decisions about a cluster: pure functions from what was observed to what is to be done."""
