"""No file of the project speaks of the machine that it was written on, or of where its packages came from."""

import re
import subprocess

from tests.unit.docs.pages import PROJECT

# In parts, or this file would speak of them too.
FORBIDDEN = re.compile(
    "|".join(
        (
            r"(?<![\w.}])/(?:" + r"work\b|root/)",
            r"\.\./" + "shared",
            re.escape("pypi" + ".org"),
            "files" + r"\.pythonhosted",
            re.escape("proxy." + "golang.org"),
            re.escape("sum." + "golang.org"),
            re.escape("deb." + "debian.org"),
        )
    )
)


def test_no_file_speaks_of_this_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        check=True,
    )
    faults = []
    for name in listed.stdout.decode().split("\0"):
        path = PROJECT / name
        if not name or not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().decode(errors="replace").splitlines(), start=1):
            if FORBIDDEN.search(line):
                faults.append(f"{name}:{number}: {line.strip()[:120]}")
    assert faults == []
