"""Errors of the API's rules."""

from app.errors import OperatorError


class DocumentError(OperatorError):
    """A text is not a YAML document that Kubernetes could take; says where."""

    def __init__(self, line: int | None, why: str) -> None:
        super().__init__(why if line is None else f"line {line}: {why}")
        self.line = line
        self.why = why
