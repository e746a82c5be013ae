import os
import threading
import time
from pathlib import Path

import pytest

from tests.cluster import cache


def test_an_entry_is_made_once(cache_root: Path) -> None:
    made = []

    def make(out: Path) -> None:
        made.append(out)
        (out / "file").write_text("content")

    first = cache.entry("kind", "name-key", make)
    second = cache.entry("kind", "name-key", make)
    assert first == second == cache_root / "kind" / "name-key"
    assert (first / "file").read_text() == "content"
    assert len(made) == 1


def test_what_fails_leaves_nothing_and_is_tried_again(cache_root: Path) -> None:
    def fail(out: Path) -> None:
        (out / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.entry("kind", "name-key", fail)
    assert [path.name for path in (cache_root / "kind").iterdir()] == [".name-key.lock"]
    assert cache.entry("kind", "name-key", lambda out: None).is_dir()


def test_two_at_once_make_it_once(cache_root: Path) -> None:
    made = []
    entered = threading.Event()
    release = threading.Event()

    def make(out: Path) -> None:
        made.append(out)
        entered.set()
        assert release.wait(10)

    makers = [threading.Thread(target=cache.entry, args=("kind", "name-key", make)) for _ in range(2)]
    makers[0].start()
    assert entered.wait(10)
    makers[1].start()
    release.set()
    for maker in makers:
        maker.join(10)
    assert len(made) == 1


def test_what_a_killed_process_left_is_removed(cache_root: Path) -> None:
    left = cache_root / "kind" / ".name-key.abc"
    left.mkdir(parents=True)
    cache.entry("kind", "name-key", lambda out: None)
    assert not left.exists()


def test_old_entries_of_the_family_go_and_the_last_few_stay(cache_root: Path) -> None:
    old = time.time() - 2 * cache.KEPT_SECONDS
    for number in range(5):
        place = cache.entry("kind", f"image-{number}", lambda out: None)
        os.utime(place, (old + number, old + number))
    other = cache.entry("kind", "other-0", lambda out: None)
    os.utime(other, (old, old))
    cache.entry("kind", "image-5", lambda out: None)
    names = {path.name for path in (cache_root / "kind").iterdir() if not path.name.startswith(".")}
    assert names == {"image-3", "image-4", "image-5", "other-0"}


def test_an_entry_in_use_stays_however_many_there_are(cache_root: Path) -> None:
    for number in range(6):
        cache.entry("kind", f"image-{number}", lambda out: None)
    assert len(list((cache_root / "kind").glob("image-*"))) == 6


@pytest.mark.parametrize("parts", [("ab", "c"), ("a", "bc"), ("abc",), ("abc", "")])
def test_the_key_tells_apart_where_its_parts_end(parts: tuple[str, ...]) -> None:
    others = {("ab", "c"), ("a", "bc"), ("abc",), ("abc", "")} - {parts}
    assert cache.key(*parts) not in {cache.key(*other) for other in others}


def test_the_place_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cache.LOCATION, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.root() == Path("/somewhere/etcd-operator")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.root() == Path("/home/someone/.cache/etcd-operator")
