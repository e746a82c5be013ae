"""What loading the Kubernetes library costs, in a process of its own."""

import subprocess
import sys

PROGRAM = """
import sys
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
# What the operator needs anyway.
import aiohttp.web, msgspec, json, ssl, tempfile, http.client
import app.ops.metrics, app.ops.logging
before = resident()
import app.kube.client
cost = resident() - before
loaded = [name for name in sys.modules if name.startswith("kubernetes_asyncio.client.")]
print(cost)
print(*loaded)
import app.runtime
print(*{"yaml", "kubernetes_asyncio.config.kube_config", "app.validate_command"} & set(sys.modules))
"""


def test_P24_no_models_are_loaded_and_it_costs_little() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    cost, loaded, needless = ran.stdout.splitlines()
    assert float(cost) < 5
    assert set(loaded.split()) == {
        "kubernetes_asyncio.client.configuration",
        "kubernetes_asyncio.client.exceptions",
        "kubernetes_asyncio.client.rest",
    }
    assert not needless


def test_a_program_that_has_the_whole_library_keeps_it() -> None:
    program = "import kubernetes_asyncio.client as c; import app.kube.client; print(c.V1Pod.__name__)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "V1Pod"
