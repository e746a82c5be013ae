"""The admission webhooks: an HTTPS server, and the pure functions from a review to its answer."""
