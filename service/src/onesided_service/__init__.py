"""A service for people who may not see the rows: HTTP API, people, budgets, published releases.

It stands on what ``onesided`` makes public. ``onesided.serve`` gives the same names.
"""

from onesided_service._app import create_app
from onesided_service._config import DatasetConfig, MonitorConfig, OidcConfig, ServiceConfig

__all__ = ["DatasetConfig", "MonitorConfig", "OidcConfig", "ServiceConfig", "create_app"]
