"""Spark: a monitor whose rows stay there, and the streams that it follows.

Needs ``onesided[spark]`` and Java, which are loaded on use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onesided.errors import MissingDependencyError

if TYPE_CHECKING:
    from onesided.spark._following import Following, SparkMonitor, monitor
    from onesided.spark._sinks import Announced, Source, files, manifest, queue

_LATER = {
    **dict.fromkeys(("Following", "SparkMonitor", "monitor"), "_following"),
    **dict.fromkeys(("Announced", "Source", "files", "manifest", "queue"), "_sinks"),
}

__all__ = [
    "Announced", "Following", "Source", "SparkMonitor", "files", "manifest", "monitor", "queue",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Names that are loaded when first asked for. Errors: MissingDependencyError."""
    if name not in _LATER:
        raise AttributeError(f"module 'onesided.spark' has no attribute {name!r}")
    try:
        found = getattr(import_module(f"onesided.spark.{_LATER[name]}"), name)
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"onesided.spark needs {error.name}, which is not installed.",
            hint='Install it with pip install "onesided[spark]".',
        ) from error
    globals()[name] = found
    return found
