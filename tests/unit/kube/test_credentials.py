"""Tokens that change on disk."""

from pathlib import Path

from app.kube.credentials import TokenFile


async def test_P15_token_file_is_read_again_each_minute(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    now = 0.0
    token = TokenFile(path, clock=lambda: now)
    assert await token.header() == "Bearer one"
    path.write_text("two\n")
    now = 59.0
    assert await token.header() == "Bearer one"
    now = 60.0
    assert await token.header() == "Bearer two"
    path.write_text("three\n")
    assert await token.header(renew=True) == "Bearer three"


async def test_a_token_that_is_missing_for_a_moment_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    now = 0.0
    token = TokenFile(path, clock=lambda: now)
    await token.header()
    path.unlink()
    now = 100.0
    assert await token.header() == "Bearer one"
    path.write_text("")
    assert await token.header() == "Bearer one"
    path.write_text("two")
    assert await token.header() == "Bearer two"
