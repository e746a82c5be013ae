"""A machine: namespaces and a cgroup that live and die together.

A machine has its own processes, network, mounts and host name. Its process 1 only holds the namespaces;
killing that one kills all others in it, as the kernel's rule for a process 1 is, and with the last process
go the mounts and the network. That is a power cut, and it is also the whole of cleaning up: nothing is ever
mounted or configured in the host's own namespaces.

What survives a power cut is the disk, a folder that a machine sees as /run/node. /run itself is memory, so
that fixed paths below it (of containerd, of the network plugins, of xtables) are the machine's own and are
empty after each start, as on a real one.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.cluster import processes
from tests.cluster.cgroups import Group
from tests.cluster.errors import HarnessError
from tests.cluster.waiting import HopelessError, NotInTimeError, wait_until

DISK = PurePosixPath("/run/node")
"""Where a machine sees its disk."""

_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}

# Process 1 ignores SIGCHLD, so the kernel itself reaps the processes that are left to it. The parameters that
# a kubelet insists on setting are the whole host's: it gets copies to set. The disk is bound through the
# working folder, since its path may be below one that has just been covered.
_PROCESS_1 = f"""set -eu
cd "$2"
mount --make-rshared /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 run /run
mkdir -p {DISK} /run/lock /run/sysctl /run/var-lib/upper /run/var-lib/work log
for parameter in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
                 kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  copy=$(mktemp /run/sysctl/XXXXXX)
  cat "/proc/sys/$parameter" >"$copy"
  mount --bind "$copy" "/proc/sys/$parameter"
done
mount --no-canonicalize --bind . {DISK}
mount --no-canonicalize --bind ./log /var/log
mount -t overlay -o lowerdir=/var/lib,upperdir=/run/var-lib/upper,workdir=/run/var-lib/work overlay /var/lib
cd /
hostname "$1"
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
exec env --ignore-signal=CHLD sleep infinity </dev/null >/dev/null 2>&1
"""


class ProgramEndedError(HopelessError):
    """A program that has to run ended by itself; the message has the end of its log."""

    def __init__(self, machine: "Machine", program: str) -> None:
        last = "\n".join(machine.log(program).splitlines()[-15:])
        super().__init__(f"{program} on {machine.name} ended:\n{last}")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine by its name, its cgroup and its disk; it needn't be running."""

    name: str
    group: Group
    disk: Path

    @property
    def _system(self) -> Group:
        """Where its own processes are; its containers get groups beside this one."""
        return self.group.child("system")

    def boot(self) -> None:
        """Start it, without anything in it and with no network but loopback.

        Raises:
            HarnessError: this system doesn't allow it.

        """
        self.disk.mkdir(parents=True, exist_ok=True)
        self._system.create()
        unshare = (
            'exec unshare --mount --uts --net --pid --propagation private sh -c \'sh -c "$@" &\' sh "$@"'
        )
        booted = subprocess.run(
            ["sh", "-c", self._system.joining() + unshare, "sh", _PROCESS_1, "sh", self.name, self.disk],
            capture_output=True,
            text=True,
            check=False,
        )
        if self.pid is None:
            raise HarnessError(f"The machine {self.name} doesn't start: {booted.stderr.strip()}")

    @property
    def pid(self) -> int | None:
        """Its process 1, numbered as the host does; None when it isn't running."""
        return next(
            (pid for pid in self._system.own_processes() if processes.namespaced_ids(pid)[1:] == [1]), None
        )

    def find(self, program: str) -> int | None:
        """The process (numbered as the host does) that runs `program`, if one does."""
        return next((pid for pid in self._system.own_processes() if processes.program(pid) == program), None)

    def spawn(self, program: Path | str, *arguments: str) -> None:
        """Start a program that stays; what it says is appended to `log/<program>.log` on the disk.

        Raises ProgramEndedError if it is not there a moment later.
        """
        name = Path(program).name
        script = f'setsid "$@" </dev/null >>{DISK}/log/{name}.log 2>&1 &'
        self._enter("sh", "-c", script, "sh", str(program), *arguments)
        try:
            wait_until(lambda: self.find(name), timeout=5, what=name, every=0.005)
        except NotInTimeError:
            raise ProgramEndedError(self, name) from None

    def check(self, program: str) -> None:
        """Raise ProgramEndedError if a program that was spawned isn't there any more."""
        if self.find(program) is None:
            raise ProgramEndedError(self, program)

    def run(self, *command: str, stdin: Path | None = None, timeout: float = 120) -> str:
        """Run a command in the machine and return what it prints.

        Raises:
            HarnessError: it failed, or took longer than `timeout` seconds.

        """
        return self._enter(*command, stdin=stdin, timeout=timeout)

    def network(self, *command: str, text: str = "") -> str:
        """Run a command of the host that sees the machine's network only; `text` is its standard input."""
        arguments = ["nsenter", f"--net=/proc/{self._running()}/ns/net", *command]
        return checked(arguments, text=text)

    def kill(self) -> None:
        """A power cut; nothing of it is left but the disk."""
        self.group.kill()
        self.group.remove()

    def log(self, program: str) -> str:
        """What a program that was spawned has said."""
        path = self.disk / "log" / f"{program}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _running(self) -> int:
        pid = self.pid
        if pid is None:
            raise HarnessError(f"The machine {self.name} isn't running")
        return pid

    def _enter(self, *command: str, stdin: Path | None = None, timeout: float = 30) -> str:
        namespaces = f"--target {self._running()} --mount --uts --net --pid"
        script = f'{self._system.joining()}exec nsenter {namespaces} -- "$@"'
        return checked(
            ["sh", "-c", script, f"on {self.name}", *command],
            environment=_ENVIRONMENT,
            stdin=stdin,
            timeout=timeout,
            shown=" ".join(command),
        )


def checked(
    command: Sequence[str],
    *,
    text: str = "",
    stdin: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float = 30,
    shown: str = "",
) -> str:
    """Run a command and return its output; a message calls it `shown`.

    Raises HarnessError: it failed, with what it said; or it took longer than `timeout` seconds.
    """
    shown = shown or " ".join(command)
    with (stdin or Path(os.devnull)).open("rb") as source:
        try:
            done = subprocess.run(
                command,
                input=text or None,
                stdin=None if text else source,
                capture_output=True,
                text=True,
                check=False,
                env=environment,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise HarnessError(f"`{shown}` took longer than {timeout:g} s") from None
    if done.returncode != 0:
        raise HarnessError(f"`{shown}` failed: {(done.stderr + done.stdout).strip()}")
    return done.stdout
