from pathlib import Path

import pytest

from tests.cluster import cache, images, oci


def test_all_versions_of_the_path_of_upgrades_are_there() -> None:
    assert {version.rpartition(".")[0] for version in images.ETCD_VERSIONS} == {"3.4", "3.5", "3.6", "3.7"}


def test_images_have_their_official_names() -> None:
    assert images.etcd_reference("3.6.16") == "quay.io/coreos/etcd:v3.6.16"
    assert images.PAUSE == "registry.k8s.io/pause:3.10"


def test_an_unknown_image_is_an_error() -> None:
    with pytest.raises(KeyError):
        images.ensure_etcd_image("3.2.13")


def test_an_archive_is_made_once_for_what_is_in_it(cache_root: Path) -> None:
    def image(content: str) -> oci.Image:
        return oci.Image(reference="registry.example/some:v1", tree={"/file": oci.Text(content)})

    first = images.archive(image("one"))
    made = first.stat().st_mtime_ns
    assert images.archive(image("one")) == first
    assert first.stat().st_mtime_ns == made
    assert images.archive(image("two")) != first
    assert first.name == "some-v1.tar"


def test_where_the_cache_is_does_not_change_the_key(
    cache_root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def place() -> str:
        root = cache.root()
        root.mkdir(exist_ok=True)
        (root / "program").write_text("program")
        tree = {"/program": oci.File(root / "program")}
        return images.archive(oci.Image(reference="some:v1", tree=tree)).parent.name

    first = place()
    monkeypatch.setenv(cache.LOCATION, str(tmp_path / "elsewhere"))
    assert place() == first
