"""A service for people who may not see the rows: HTTP API, people, budgets, published releases.

These names come with ``onesided-service``, a distribution of its own: ``pip install
onesided-service``. They are loaded when they are first asked for.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from onesided._plugins import from_part

if TYPE_CHECKING:
    from onesided_service import DatasetConfig, MonitorConfig, OidcConfig, ServiceConfig, create_app

__all__ = ["DatasetConfig", "MonitorConfig", "OidcConfig", "ServiceConfig", "create_app"]


def __getattr__(name: str) -> Any:
    """A name of the service. Errors: MissingDependencyError, where it is not installed."""
    if name == "__path__" and (part := find_spec("onesided_service")) is not None:
        return part.submodule_search_locations  # its modules are found below this name, too
    if name not in __all__:
        raise AttributeError(f"module 'onesided.serve' has no attribute {name!r}")
    return from_part("onesided-service", name)


def __dir__() -> list[str]:
    return __all__
