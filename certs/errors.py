"""What can go wrong with certificates."""

from app.errors import OperatorError


class CertificateError(OperatorError):
    """A certificate or key that can't be used; the text says which and why."""
