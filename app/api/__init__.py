"""The custom resources: their models, and the pure rules on them.

Webhooks, reconcile and the command line share ``defaults.default`` and ``validation.validate``, so that a
skipped webhook cannot feed a bad object in. Nothing here does I/O or looks at a clock.
"""
