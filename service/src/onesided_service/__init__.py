"""A service for people who may not see the rows: HTTP API, people, budgets, published releases.

It stands on what ``onesided`` makes public. ``onesided.serve`` gives the same names.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onesided_service._config import DatasetConfig, MonitorConfig, OidcConfig, ServiceConfig

if TYPE_CHECKING:
    from onesided_service._app import create_app

__all__ = ["DatasetConfig", "MonitorConfig", "OidcConfig", "ServiceConfig", "create_app"]


def __getattr__(name: str) -> Any:
    """The application is loaded on use: a process that reads rows has no pages."""
    if name != "create_app":
        raise AttributeError(f"module 'onesided_service' has no attribute {name!r}")
    return import_module("onesided_service._app").create_app
