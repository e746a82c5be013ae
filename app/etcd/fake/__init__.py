"""An etcd without etcd, for tests: a model of its membership, and a client and dialer on top of it.

The model is synchronous, deterministic, and on a clock that is given to it, so that a test can drive it
step by step, let virtual time pass, or search it for counterexamples. It models what an operator can get
wrong (which member has which data, who is connected to whom and since when, who leads, what a quorum
allows, how a process starts on a data folder) and leaves out the rest. Elections take no time.

The same statements are checked on real members by ``tests/integration/etcd``.
"""

from app.etcd.fake.client import FakeClient, FakeDialer, Fault
from app.etcd.fake.cluster import SimulatedCluster
from app.etcd.fake.state import Data, Exit, NoAnswerError, Process, State

__all__ = [
    "Data",
    "Exit",
    "FakeClient",
    "FakeDialer",
    "Fault",
    "NoAnswerError",
    "Process",
    "SimulatedCluster",
    "State",
]
