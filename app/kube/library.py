"""Load kubernetes_asyncio without its models.

The package's ``__init__`` imports every model and API class of Kubernetes: 66 MiB, of the 90 MiB the whole
idle operator may take, and none of it is used here. What is used, its configuration, its session and its
readers of kubeconfig and service account, lives in submodules that need none of the models. So the
parent packages are registered empty first; Python then finds the submodules on the parents' path without
running their ``__init__``.

A program that has imported the real package before keeps it.
"""

import importlib
import importlib.util
import sys
from typing import Any

_BARE = ("kubernetes_asyncio", "kubernetes_asyncio.client", "kubernetes_asyncio.config")


def _register_bare(name: str) -> None:
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"The package {name} isn't installed", name=name)
    sys.modules[name] = importlib.util.module_from_spec(spec)


def _submodule(name: str) -> Any:
    return importlib.import_module(f"kubernetes_asyncio.{name}")


def load() -> tuple[Any, Any, Any]:
    """Return the modules client.configuration, client.rest and config.incluster_config."""
    real = "kubernetes_asyncio" in sys.modules
    if not real:
        for name in _BARE:
            _register_bare(name)
    configuration = _submodule("client.configuration")
    if not real:
        # The two names that the readers of kubeconfig and service account take from the bare package;
        # ApiClient, which would load the models, they only name in annotations and two unused functions.
        client: Any = sys.modules["kubernetes_asyncio.client"]
        client.Configuration = configuration.Configuration
        client.ApiClient = object
    return configuration, _submodule("client.rest"), _submodule("config.incluster_config")


def load_kubeconfig_reader() -> Any:
    """Return the module config.kube_config, which brings YAML with it and is of no use in a Pod."""
    load()
    return _submodule("config.kube_config")
