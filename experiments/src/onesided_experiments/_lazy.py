"""Optional packages, loaded when a reproduction needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from onesided.errors import MissingDependencyError


def load(module: str, *, extra: str) -> Any:
    """The module, or a MissingDependencyError that names the extra."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"Reproducing a paper needs {module.split('.', maxsplit=1)[0]}.",
            hint=f"pip install 'onesided[{extra}]'",
        ) from error
