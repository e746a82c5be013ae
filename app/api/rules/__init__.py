"""The rules of the custom resources, one module per family of fields.

Each rule takes the part of the object it is about and a ``Report``, and knows nothing of ratcheting: what a
stored object already had is forgiven by ``app.api.validation``. Rules walk plain JSON and tolerate any type
in it, because a webhook sees whatever was sent.
"""
