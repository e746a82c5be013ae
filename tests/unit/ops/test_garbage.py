"""The collector's settings, in a process of its own: they would stay."""

import subprocess
import sys

PROGRAM = """
import gc
import app.runtime
from app.ops import garbage
garbage.settle()
print(len(gc.get_objects()), gc.get_freeze_count(), gc.get_threshold()[0])
"""


def test_what_was_imported_is_not_looked_at_again() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    left, frozen, young = map(int, ran.stdout.split())
    assert left < frozen / 50
    assert young == 5_000
