"""The settings that the tests themselves depend on."""

import tomllib
from pathlib import Path


def test_P14_a_session_that_is_not_closed_fails_a_test() -> None:
    """Python only warns of it, so warnings are errors."""
    pytest_settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]

    assert pytest_settings["ini_options"]["filterwarnings"] == ["error"]
