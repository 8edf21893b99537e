"""Heavy packages, loaded when a reproduction needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from onesided.errors import MissingDependencyError


def load(module: str) -> Any:
    """The module. Errors: MissingDependencyError where the installation is not whole."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"Reproducing a paper needs {module.split('.', maxsplit=1)[0]}.",
            hint="Install the experiments again: pip install onesided-experiments",
        ) from error
