"""A service for people who may not see the rows: HTTP API, people, budgets, published releases.

These names come with ``onesided-service``, a distribution of its own: ``pip install
onesided-service``. They are loaded when they are first asked for.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from onesided.errors import MissingDependencyError

if TYPE_CHECKING:
    from onesided_service import (
        DatasetConfig,
        MonitorConfig,
        OidcConfig,
        ServiceConfig,
        create_app,
    )

__all__ = ["DatasetConfig", "MonitorConfig", "OidcConfig", "ServiceConfig", "create_app"]

_FROM: Final = "onesided_service"


def __getattr__(name: str) -> Any:
    """A name of the service. Errors: MissingDependencyError, where it is not installed."""
    if name not in __all__:
        raise AttributeError(f"module 'onesided.serve' has no attribute {name!r}")
    if find_spec(_FROM) is None:
        raise MissingDependencyError(
            "The service comes with onesided-service, which is not installed.",
            hint="pip install onesided-service, or in a copy of the repository: "
            "pip install ./service",
        )
    return getattr(import_module(_FROM), name)


def __dir__() -> list[str]:
    return __all__
