"""What can go wrong with certificates."""

from app.errors import OperatorError


class CertificateError(OperatorError):
    """A certificate or key that can't be used; the text says which and why."""


class NewerFormatError(CertificateError):
    """The CA Secret was written by a newer operator: it is read, and never written."""
