"""A replica in a process of its own: stands for leader and, while it leads, writes its name all the time.

Run as ``python -m tests.integration.kube.replica KUBECONFIG NAMESPACE IDENTITY DURATION DEADLINE PERIOD``. It
stops on SIGTERM as the operator does: the work first, then the Lease.
"""

import asyncio
import signal
import sys
from contextlib import suppress
from itertools import count

from app.kube.api import Api
from app.kube.client import connect
from app.kube.errors import KubeError
from app.kube.lease import Elector, Timing
from app.kube.resources import CONFIG_MAPS
from app.ops.logging import setup
from app.ops.metrics import Metrics


async def main(kubeconfig: str, namespace: str, identity: str, *timing: str) -> None:
    setup(level="warning")
    metrics = Metrics()
    transport = await connect(kubeconfig, metrics=metrics)
    api = Api(transport)
    elector = Elector(
        api,
        namespace=namespace,
        name="operator",
        identity=identity,
        timing=Timing(*map(float, timing)),
        metrics=metrics,
    )
    fenced = api.fenced(elector.remaining)

    async def lead() -> None:
        for number in count():
            data = {"by": identity, "number": str(number)}
            with suppress(KubeError):
                await fenced.patch(CONFIG_MAPS, namespace, "work", {"data": data})
            await asyncio.sleep(0.01)

    task = asyncio.create_task(elector.run(lead))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
    await transport.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
