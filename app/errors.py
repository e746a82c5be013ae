"""The root of the operator's own errors.

Each layer defines its errors in an ``errors`` module of its own, below this root, so that an error of a
library (aiohttp, grpc, ssl) never leaks out of the package that uses that library.
"""


class OperatorError(Exception):
    """Any fault that the operator foresees; its text is fit to be shown to a user."""
