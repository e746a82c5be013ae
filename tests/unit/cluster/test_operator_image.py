import re
import tomllib
from pathlib import Path

from tests.cluster import operator_image

PROJECT = Path(__file__).parents[3]
DOCKERFILE = (PROJECT / "Dockerfile").read_text()


def _version() -> str:
    loaded = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    return str(loaded["project"]["version"])


def test_the_image_has_the_version_of_the_project() -> None:
    assert f"ARG VERSION={_version()}\n" in DOCKERFILE
    assert operator_image.REFERENCE.endswith(f":v{_version()}")


def test_the_manifests_name_the_image_that_is_built() -> None:
    manager = (PROJECT / "manifests" / "manager" / "manager.yaml").read_text()
    assert f"image: {operator_image.REFERENCE}\n" in manager


def test_the_image_is_not_run_by_root() -> None:
    (user,) = re.findall(r"(?m)^USER (.*)$", DOCKERFILE)
    assert user == "65532:65532"


def test_all_that_is_copied_is_given_to_the_build() -> None:
    copied = set(re.findall(r"(?m)^COPY (?!--from)(\S+)", DOCKERFILE))
    assert copied == {"app", "certs", "webhooks", "requirements.lock"}
    let_in = {line[1:] for line in (PROJECT / ".dockerignore").read_text().splitlines() if line[0] == "!"}
    assert let_in == copied
    assert copied <= {Path(name).parts[0] for name in operator_image._sources()}


def test_no_bytecode_gets_into_the_build() -> None:
    assert not [name for name in operator_image._sources() if name.endswith(".pyc")]
