"""From nothing to a key in etcd: `python -m tests.cluster.demo up|down [--context CONTEXT]`.

Without a context it makes a Kubernetes cluster of its own on this machine (named `demo`), with the operator's
image built from the work tree. With one it uses that context of the user's kubeconfig. Either way it leaves
`build/demo/kubeconfig` and `build/demo/kubectl`, and does the rest through those, as a user would.
"""

import argparse
import contextlib
import shutil
import signal
import sys
import textwrap
from pathlib import Path
from shlex import quote
from types import FrameType

import yaml

from tests.cluster import binaries, images, operator_image, preflight
from tests.cluster.cluster import Cluster
from tests.cluster.errors import HarnessError
from tests.cluster.machine import checked
from tests.cluster.progress import say, step

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "build" / "demo"
OPERATOR = PROJECT / "manifests" / "default"
SAMPLE = PROJECT / "manifests" / "samples" / "example-etcd-cluster.yaml"
NAMESPACE = "etcd-operator-system"
GROUP = "etcd.database.coreos.com"
NODES = 3

_COMPLETE = FOLDER / "image"  # written last: which image the operator of a demo that is up has
_WRAPPER = """\
#!/bin/sh
# kubectl for the demo's cluster, whatever KUBECONFIG says.
KUBECONFIG={kubeconfig} exec {program} "$@"
"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 if it worked, 1 with a message if not, 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.demo", description=__doc__)
    parser.add_argument("command", choices=("up", "down"))
    parser.add_argument("--context", default="", help="use this context of your kubeconfig")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        (up if options.command == "up" else down)(options.context)
    except HarnessError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("Interrupted")
        return 130
    return 0


def up(context: str = "") -> None:
    """Bring the demo up, or what of it is missing, and tell how to go on.

    An interruption takes back what it began; an error leaves it, to be looked at.
    """
    complete = _COMPLETE.exists()
    try:
        image = _use_context(context) if context else _use_own_cluster()
        _deploy(image, context)
        _apply_sample()
    except KeyboardInterrupt:
        if not complete:
            say("Interrupted: taking it down again")
            down(context)
        raise
    _COMPLETE.write_text(image)
    print(_farewell(context))


def down(context: str = "") -> None:
    """Remove what `up` made."""
    if context:
        _use_context(context)
        _leave_cluster()
    else:
        Cluster("demo").down()
    shutil.rmtree(FOLDER, ignore_errors=True)


def _use_own_cluster() -> str:
    preflight.check(NODES)  # before the first thing that takes long
    operator = operator_image.operator_image()
    etcd = images.ensure_etcd_image(_sample()["spec"]["version"])
    cluster = Cluster("demo")
    if not cluster.exists:
        shutil.rmtree(FOLDER, ignore_errors=True)
    cluster.up(NODES, images=[etcd, operator])
    _leave_tools(cluster.kubeconfig.read_text(), binaries.find("kubectl")["kubectl"])
    return str(operator)


def _use_context(context: str) -> str:
    found = shutil.which("kubectl")
    program = Path(found) if found else binaries.find("kubectl")["kubectl"]
    view = (str(program), "config", "view", "--raw", "--minify", "--flatten", f"--context={context}")
    _leave_tools(checked(view, timeout=60), program)
    return f"of the context {context}"


def _leave_tools(kubeconfig: str, program: Path) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    config = FOLDER / "kubeconfig"
    config.touch(mode=0o600)
    config.write_text(kubeconfig)
    wrapper = FOLDER / "kubectl"
    wrapper.write_text(_WRAPPER.format(kubeconfig=quote(str(config)), program=quote(str(program))))
    wrapper.chmod(0o755)


def _kubectl(*arguments: str, timeout: float = 120) -> str:
    return checked((str(FOLDER / "kubectl"), *arguments), timeout=timeout)


def _deploy(image: str, context: str) -> None:
    if context:
        say(_image_help(context))
    in_namespace = ("--namespace", NAMESPACE)
    with step("Deploying the operator"):
        _kubectl("apply", "-k", str(OPERATOR))
        if _COMPLETE.exists() and _COMPLETE.read_text() != image:
            # The image's name says nothing of what was built into it since.
            _kubectl("rollout", "restart", "deployment/etcd-operator", *in_namespace)
        try:
            _kubectl("rollout", "status", "deployment/etcd-operator", *in_namespace, "--timeout=90s")
        except HarnessError as error:
            pods = _kubectl("get", "pods", *in_namespace, "--output=wide")
            raise HarnessError(f"{error}\n{pods}") from error


def _apply_sample() -> None:
    sample = _sample()["metadata"]["name"]
    with step(f"Creating the EtcdCluster {sample}"):
        _kubectl("apply", "--filename", str(SAMPLE))
        kind = f"etcdclusters.etcd.database.coreos.com/{sample}"
        try:
            _kubectl("wait", "--for=condition=Available", kind, "--timeout=90s")
        except HarnessError as error:
            raise HarnessError(f"{error}\n{_kubectl('describe', kind)}") from error
        # It serves; wait a moment for the last member too, since what is shown then looks complete.
        with contextlib.suppress(HarnessError):
            _kubectl("wait", "--for=condition=Ready", kind, "--timeout=15s")


def _leave_cluster() -> None:
    """Take out of a cluster of the user's what we put in, unless others use it by now."""
    sample = _sample()["metadata"]["name"]
    missing_is_fine = ("--ignore-not-found", "--wait")
    definitions = [name for name in _kubectl("get", "crds", "--output=name").split() if name.endswith(GROUP)]
    if definitions:
        kinds = ",".join(name.rpartition("/")[2] for name in definitions)
        listed = _kubectl("get", kinds, "--all-namespaces", "--output=name").split()
        if others := [name for name in listed if name.rpartition("/")[2] != sample]:
            raise HarnessError(
                f"With the operator's CRDs these would be deleted too: {', '.join(others)}. Delete them first"
            )
        _kubectl("delete", "--filename", str(SAMPLE), *missing_is_fine)
    # The operator before its CRDs, and wholly: it would create them again.
    in_namespace = ("--namespace", NAMESPACE, "--cascade=foreground")
    _kubectl("delete", "deployment/etcd-operator", *in_namespace, *missing_is_fine)
    _kubectl("delete", "-k", str(OPERATOR), *missing_is_fine)
    if definitions:
        _kubectl("delete", *definitions, *missing_is_fine)


def _sample() -> dict[str, dict[str, str]]:
    loaded: dict[str, dict[str, str]] = yaml.safe_load(SAMPLE.read_text())
    return loaded


def _image_help(context: str) -> str:
    name = operator_image.REFERENCE
    return textwrap.dedent(
        f"""\
        The image {name} has to be on the cluster's nodes. If it isn't yet, for kind:
          docker build --tag {name} .
          kind load docker-image {name} --name {context.removeprefix("kind-")}"""
    )


def _farewell(context: str) -> str:
    name = _sample()["metadata"]["name"]
    tool = (FOLDER / "kubectl").relative_to(PROJECT)
    member = _kubectl("get", "pods", f"--selector=etcd_cluster={name}", "--output=name").split()[0]
    member = member.removeprefix("pod/")
    etcdctl = f"{tool} exec {member} -- etcdctl --endpoints=http://{name}-client:2379"
    return f"""\
{_kubectl("get", "etcd")}
{_kubectl("get", "pods,services", f"--selector=etcd_cluster={name}", "--output=wide")}
Write a key and read it back:
  {etcdctl} put greeting hello
  {etcdctl} get greeting

Go on:
  {tool} describe etcd {name}
  {tool} logs -n {NAMESPACE} deployment/etcd-operator
  export KUBECONFIG={FOLDER / "kubeconfig"}
  make demo-down{f" CONTEXT={context}" if context else ""}
"""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
