"""The programs of the test cluster, built once from pinned Go modules.

Each folder below `go/` is a Go module whose `tool` directives name the programs and whose go.sum pins
all that goes into them. A build's result is kept in the cache by the hash of that folder and of the flags.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster import cache
from tests.cluster.errors import HarnessError
from tests.cluster.progress import Step, step

MODULES = Path(__file__).with_name("go")
FLAGS = ("-trimpath", "-buildvcs=false")
ASSETS = "KUBEBUILDER_ASSETS"  # the variable by which envtest and its users name such a folder


@dataclass(frozen=True, slots=True)
class Tool:
    """A module of ours and what comes out of it.

    `programs` maps a program's name to the Go package that is its main. `stamps` are string variables set at
    link time. `expected_seconds` is a build from nothing on two cores.
    """

    version: str
    programs: Mapping[str, str]
    expected_seconds: float
    stamps: Mapping[str, str] = field(default_factory=dict)


def _etcd(version: str) -> Tool:
    packages = {
        "etcd": "go.etcd.io/etcd/server/v3",
        "etcdctl": "go.etcd.io/etcd/etcdctl/v3",
        "etcdutl": "go.etcd.io/etcd/etcdutl/v3",
    }
    return Tool(version, packages, expected_seconds=120)


def _kubernetes(version: str) -> Tool:
    names = ("apiserver", "controller-manager", "proxy", "scheduler")
    programs = [*(f"kube-{name}" for name in names), "kubectl", "kubelet"]
    major, minor, _ = version.split(".")
    stamp = {
        "gitVersion": f"v{version}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
    }
    return Tool(
        version,
        {program: f"k8s.io/kubernetes/cmd/{program}" for program in programs},
        expected_seconds=600,
        stamps={
            f"k8s.io/{package}.{variable}": value
            for package in ("component-base/version", "client-go/pkg/version")
            for variable, value in stamp.items()
        },
    )


TOOLS: Mapping[str, Tool] = {
    "kubernetes": _kubernetes("1.34.4"),
    # From before etcd's own modules: the dependencies are those of its glide.yaml as far as they are tagged,
    # except for a bbolt that today's Go runs. Nothing of it is shipped.
    "etcd-3.3": Tool("3.3.27", {"etcd": "github.com/coreos/etcd"}, expected_seconds=60),
    "etcd-3.5-old": _etcd("3.5.15"),
    "etcd-3.5": _etcd("3.5.35"),
    "etcd-3.6": _etcd("3.6.16"),
    "etcd-3.7": _etcd("3.7.3"),
    "coredns": Tool("1.14.7", {"coredns": "github.com/coredns/coredns"}, expected_seconds=240),
    "local-path-provisioner": Tool(
        "0.0.30",
        {"local-path-provisioner": "github.com/rancher/local-path-provisioner"},
        expected_seconds=120,
        stamps={"main.VERSION": "v0.0.30"},
    ),
    "pause": Tool("3.10", {"pause": "binaries/pause"}, expected_seconds=5),
}

_CONTROL_PLANE = {"etcd": "etcd-3.6"} | dict.fromkeys(TOOLS["kubernetes"].programs, "kubernetes")


def ensure(tool: str) -> dict[str, Path]:
    """The programs of a module by name, built if the cache doesn't have them.

    Raises HarnessError if there is no Go, or with the end of what it said if the build failed.
    """
    return built(tool, MODULES / tool, TOOLS[tool])


def built(tool: str, module: Path, recipe: Tool) -> dict[str, Path]:
    """As `ensure`, for the Go module in any folder; `tool` is what it is called."""
    place = cache.entry(
        "binaries", f"{tool}-{_key(module, recipe)}", lambda out: _build(tool, recipe, module, out)
    )
    return {program: place / program for program in recipe.programs}


def find(*names: str) -> dict[str, Path]:
    """Programs of the cluster itself: those of Kubernetes, and the etcd that its API server uses.

    Where $KUBEBUILDER_ASSETS names a folder, what is in it goes before what we would build.
    """
    assets = os.environ.get(ASSETS)
    found: dict[str, Path] = {}
    for name in names:
        given = Path(assets) / name if assets else None
        found[name] = given if given and given.is_file() else ensure(_CONTROL_PLANE[name])[name]
    return found


def _link_flags(recipe: Tool) -> str:
    return " ".join(("-s -w", *(f"-X {name}={value}" for name, value in recipe.stamps.items())))


def _key(module: Path, recipe: Tool) -> str:
    """Of the module's files, so of every version and checksum below it, and of how it is built."""
    sources = [part for file in sorted(module.iterdir()) for part in (file.name, file.read_bytes())]
    programs = (f"{name}={package}" for name, package in recipe.programs.items())
    return cache.key(*sources, *FLAGS, _link_flags(recipe), *programs)


def _build(tool: str, recipe: Tool, module: Path, out: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise HarnessError(
            f"Go is needed to build {tool} {recipe.version}: install Go 1.26 or newer "
            f"(https://go.dev/doc/install), or run this again with it on PATH"
        )
    what = f"Building {tool} {recipe.version}: {', '.join(recipe.programs)}"
    with step(what, expected_seconds=recipe.expected_seconds) as progress:
        # Into a folder, so that the packages they share are loaded and compiled once. There Go names a
        # program by the last element of its package's path that isn't a major version.
        options = ["-v", *FLAGS, "-ldflags", _link_flags(recipe), "-o", f"{out}/"]
        _run_go([go, "build", *options, *recipe.programs.values()], module, progress)
    for program, package in recipe.programs.items():
        built = out / _default_name(package)
        built.rename(out / program)


def _default_name(package: str) -> str:
    path = Path(package)
    return path.parent.name if path.name.startswith("v") and path.name[1:].isdigit() else path.name


def _run_go(command: list[str], module: Path, progress: Step) -> None:
    """Run Go, whose `-v` names each package that it compiles, and keep count of them."""
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    compiled = 0
    last: list[str] = []
    with tempfile.TemporaryDirectory(prefix="etcd-operator-go-") as scratch:
        environment["GOTMPDIR"] = scratch  # goes with us if the build is interrupted
        with subprocess.Popen(
            command, cwd=module, env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
        ) as process:
            try:
                assert process.stderr is not None
                for line in process.stderr:
                    compiled += 1
                    progress.detail = f"{compiled} packages compiled"
                    last = [*last[-19:], line.rstrip()]
            except BaseException:
                process.terminate()
                raise
    if process.returncode != 0:
        raise HarnessError(f"`{' '.join(command[:2])}` failed in {module}:\n" + "\n".join(last))
